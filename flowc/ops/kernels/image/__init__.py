"""Native kernels of images: resizing, colours, drawing, boxes."""
