"""TensorFlow 1's training: gradients, and what is made of them."""
