"""Programs over layers, their variables, losses and metrics: run in TensorFlow once, in flowc by the tests.

In: nothing. Out: `LAYER_SNIPPETS`, as `api_snippets.py` has them. `=`: flowc's graph must have the
very nodes that TensorFlow's has, and is not run again; the others are run. `said`: what a program
tells of names, shapes and dtypes.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets
from snippets.layer_variable_snippets import INITIALIZERS, VARIABLES
from snippets.nn_snippets import NN_SNIPPETS

_LAYERS = """
# dense =
x = tf.placeholder(tf.float32, [None, 4], name="x"); ones = tf.ones_initializer()
a = tf.layers.dense(x, 3, activation=tf.nn.relu, kernel_initializer=ones); b = tf.layers.dense(a, 2, use_bias=False, kernel_initializer=ones); c = tf.layers.dense(b, 2, name="named", kernel_initializer=ones, bias_initializer=ones, trainable=False)
d = tf.layers.dense(b, 2, name="named", reuse=True)
with tf.variable_scope("scope"):
    e = tf.layers.dense(d, 1, kernel_initializer=ones)
said = [[v.name for v in tf.global_variables()], [v.name for v in tf.trainable_variables()], d.name, e.name]
# dense_of_higher_rank
f = tf.layers.dense(tf.constant(np.arange(8, dtype=np.float32).reshape(2, 2, 2)), 3, kernel_initializer=tf.ones_initializer(), name="deep")
before = [tf.global_variables_initializer()]
out = f; said = [f.shape.as_list()]
# dense_regularized =
x = tf.placeholder(tf.float32, [2, 4], name="x"); ones = tf.ones_initializer()
y = tf.layers.dense(x, 3, kernel_initializer=ones, kernel_regularizer=lambda w: 0.1 * tf.nn.l2_loss(w), bias_regularizer=lambda b: tf.reduce_sum(b), activity_regularizer=lambda y: tf.reduce_mean(y), kernel_constraint=tf.identity)
z = tf.layers.dense(x, 3, name="dense", reuse=True, kernel_regularizer=lambda w: 0.1 * tf.nn.l2_loss(w))
said = [[r.name for r in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)], tf.trainable_variables()[0].constraint is tf.identity]
# dense_object =
x = tf.placeholder(tf.float32, [2, 4], name="x"); ones = tf.ones_initializer()
layer = tf.layers.Dense(3, kernel_initializer=ones, name="mine"); before_call = [layer.name, layer.built]
y = layer(x); z = layer.apply(x); w = layer(x)
other = tf.layers.Dense(2, kernel_initializer=ones); v = other(y)
said = [before_call, layer.name, layer.built, layer.kernel.name, layer.bias.name, [v.name for v in layer.variables], [v.name for v in layer.trainable_weights], layer.non_trainable_variables, layer.losses, layer.updates, layer.units, other.name, layer.scope_name, layer.trainable, y.name, z.name, len(layer.weights)]
# dense_by_names
x = tf.zeros([2, 3]); y = tf.layers.dense(x, 2, activation="relu", kernel_initializer="zeros"); z = tf.layers.conv2d(tf.zeros([1, 2, 2, 1]), 1, 1, activation="linear", bias_initializer="ones")
said = [y.op.type, z.op.type, tf.trainable_variables()[3].initial_value.name]
# dense_by_an_unknown_name
tf.layers.dense(tf.zeros([2, 3]), 2, activation="some")
# dense_of_an_unknown_depth
tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 3)
# dense_of_an_unknown_rank
tf.layers.dense(tf.placeholder(tf.float32), 3)
# batch_normalization_of_an_unknown_rank
tf.layers.batch_normalization(tf.placeholder(tf.float32))
# dense_of_a_vector
tf.layers.dense(tf.zeros([3]), 3)
# dense_of_integers
tf.layers.dense(tf.zeros([2, 3], tf.int32), 3)
# dense_twice_by_name
tf.layers.dense(tf.zeros([2, 3]), 3, name="a"); tf.layers.dense(tf.zeros([2, 3]), 3, name="a")
# dense_of_another_depth
layer = tf.layers.Dense(3)
layer(tf.zeros([2, 3])); layer(tf.zeros([2, 4]))
# dense_default_names
x = tf.zeros([2, 3])
for k in range(3): x = tf.layers.dense(x, 2)
with tf.name_scope("n"): y = tf.layers.dense(x, 2)
with tf.variable_scope("v", reuse=tf.AUTO_REUSE): z = tf.layers.dense(x, 2)
with tf.variable_scope("v", reuse=tf.AUTO_REUSE): z2 = tf.layers.dense(x, 2)
said = [[v.name for v in tf.global_variables()], x.name, y.name, z.name, z2.name]
# own_layer =
class Scale(tf.layers.Layer):
    def build(self, input_shape):
        self.factor = self.add_weight("factor", [int(input_shape[-1])], initializer=tf.ones_initializer())
        self.count = self.add_variable("count", [], tf.float32, initializer=tf.zeros_initializer(), trainable=False)
        super().build(input_shape)
    def call(self, inputs, twice=False):
        self.add_update(tf.assign_add(self.count, 1.0)); self.add_loss(tf.reduce_sum(self.factor))
        return inputs * self.factor * (2.0 if twice else 1.0)
layer = Scale(name="s"); y = layer(tf.ones([2, 3]), twice=True)
said = [layer.name, [v.name for v in layer.weights], [v.name for v in layer.trainable_variables], [u.name for u in layer.updates], [l.name for l in layer.losses], [u.name for u in tf.get_collection(tf.GraphKeys.UPDATE_OPS)], [u.name for u in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)], y.name]
# dropout =
x = tf.placeholder(tf.float32, [None, 4], name="x"); t = tf.placeholder(tf.bool, [], name="t")
a = tf.layers.dropout(x, 0.4, seed=1); b = tf.layers.dropout(x, 0.4, seed=1, training=True); c = tf.layers.dropout(x, 0.3, noise_shape=[None, 1], seed=2, training=t)
# dropout_of_a_bad_rate
tf.layers.dropout(tf.zeros([2]), 2.0, training=True)
# flatten =
a = tf.layers.flatten(tf.placeholder(tf.float32, [None, 2, 3], name="x")); b = tf.layers.flatten(tf.placeholder(tf.float32, [4, None, 3], name="y")); c = tf.layers.flatten(tf.zeros([3])); d = tf.layers.flatten(tf.zeros([2, 3, 4])); e = tf.layers.Flatten("channels_first")(tf.placeholder(tf.float32, [None, 2, 3, 4], name="z"))
said = [t.shape.as_list() for t in (a, b, c, d, e)]
# conv2d =
x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x"); ones = tf.ones_initializer()
a = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu, kernel_initializer=ones); b = tf.layers.conv2d(a, 2, [3, 2], (2, 1), use_bias=False, kernel_initializer=ones)
said = [[v.name for v in tf.global_variables()], [v.shape.as_list() for v in tf.global_variables()], a.shape.as_list(), b.shape.as_list()]
# conv2d_dilated
x = tf.constant(np.arange(72, dtype=np.float32).reshape(1, 6, 6, 2)); y = tf.layers.conv2d(x, 2, 2, dilation_rate=2, padding="VALID", kernel_initializer=tf.ones_initializer())
before = [tf.global_variables_initializer()]
out = y
# conv2d_channels_first =
x = tf.placeholder(tf.float32, [None, 3, 8, 8], name="x")
y = tf.layers.conv2d(x, 4, 3, data_format="channels_first", kernel_initializer=tf.ones_initializer())
# conv1d
x = tf.placeholder(tf.float32, [None, 8, 3], name="x"); ones = tf.ones_initializer()
a = tf.layers.conv1d(x, 4, 3, kernel_initializer=ones); b = tf.layers.conv1d(x, 4, 3, 2, "same", kernel_initializer=ones)
said = [a.shape.as_list(), b.shape.as_list()]
before = [tf.global_variables_initializer()]; out = b; feed = {x: np.arange(48).reshape(2, 8, 3)}
# conv3d =
x = tf.placeholder(tf.float32, [None, 4, 4, 4, 2], name="x")
a = tf.layers.conv3d(x, 3, 2, kernel_initializer=tf.ones_initializer())
# conv2d_transpose
x = tf.placeholder(tf.float32, [None, 4, 4, 3], name="x"); ones = tf.ones_initializer()
a = tf.layers.conv2d_transpose(x, 2, 3, 2, "same", kernel_initializer=ones); b = tf.layers.conv2d_transpose(tf.zeros([2, 4, 4, 3]), 2, 3, kernel_initializer=ones, use_bias=False)
said = [a.name, a.shape.as_list(), b.shape.as_list(), [v.shape.as_list() for v in tf.global_variables()]]
before = [tf.global_variables_initializer()]; out = a; feed = {x: np.arange(48).reshape(1, 4, 4, 3)}
# conv3d_transpose
x = tf.ones([1, 2, 2, 2, 3]); ones = tf.ones_initializer()
out = tf.layers.conv3d_transpose(x, 2, 2, 2, "same", kernel_initializer=ones)
before = [tf.global_variables_initializer()]
# separable_conv
x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x"); ones = tf.ones_initializer()
a = tf.layers.separable_conv2d(x, 4, 3, depth_multiplier=2, depthwise_initializer=ones, pointwise_initializer=ones)
b = tf.layers.separable_conv1d(tf.placeholder(tf.float32, [None, 8, 3], name="y"), 4, 3, depthwise_initializer=ones, pointwise_initializer=ones)
said = [[v.name for v in tf.global_variables()], [v.shape.as_list() for v in tf.global_variables()], a.name, b.name]
before = [tf.global_variables_initializer()]; out = [a, b]; feed = {x: np.arange(192).reshape(1, 8, 8, 3), "y:0": np.arange(24).reshape(1, 8, 3)}
# conv_of_a_bad_rank
tf.layers.conv2d(tf.zeros([2, 3, 4]), 2, 2)
# conv_of_unknown_channels
tf.layers.conv2d(tf.placeholder(tf.float32, [None, 8, 8, None]), 2, 2)
# conv_of_a_bad_padding
tf.layers.conv2d(tf.zeros([1, 4, 4, 1]), 2, 2, padding="some")
# conv_of_a_bad_data_format
tf.layers.conv2d(tf.zeros([1, 4, 4, 1]), 2, 2, data_format="NHWC")
# conv_of_a_bad_kernel
tf.layers.conv2d(tf.zeros([1, 4, 4, 1]), 2, [2, 3, 4])
# conv_of_strides_and_dilations
tf.layers.conv2d(tf.zeros([1, 4, 4, 1]), 2, 2, strides=2, dilation_rate=2)
# pooling =
x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x"); s = tf.placeholder(tf.float32, [None, 8, 3], name="s"); v = tf.placeholder(tf.float32, [None, 4, 4, 4, 3], name="v")
out = [tf.layers.max_pooling2d(x, 2, 2), tf.layers.average_pooling2d(x, [2, 3], 1, "same"), tf.layers.max_pooling1d(s, 2, 2), tf.layers.average_pooling1d(s, 3, 1, padding="same"), tf.layers.max_pooling3d(v, 2, 2), tf.layers.average_pooling3d(v, 2, 2)]
said = [o.name for o in out]; del out
# batch_normalization =
x = tf.placeholder(tf.float32, [None, 4], name="x")
a = tf.layers.batch_normalization(x, training=True); b = tf.layers.batch_normalization(x, name="inference", center=False, momentum=0.9); c = tf.layers.batch_normalization(x, name="plain", scale=False, training=False)
said = [[v.name for v in tf.global_variables()], [v.name for v in tf.trainable_variables()], [u.name for u in tf.get_collection(tf.GraphKeys.UPDATE_OPS)]]
# batch_normalization_fused =
x = tf.placeholder(tf.float32, [None, 4, 4, 3], name="x")
a = tf.layers.batch_normalization(x, training=True); b = tf.layers.batch_normalization(x); c = tf.layers.batch_normalization(x, scale=False, center=False)
said = [[v.name for v in tf.global_variables()], [u.name for u in tf.get_collection(tf.GraphKeys.UPDATE_OPS)]]
# batch_normalization_by_a_tensor
x = tf.placeholder(tf.float32, [None, 3], name="x"); t = tf.placeholder(tf.bool, [], name="t")
y = tf.layers.batch_normalization(x, training=t, momentum=0.5)
updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS); data = np.arange(12, dtype=np.float32).reshape(4, 3)
before = [tf.global_variables_initializer(), (updates, {x: data, t: True}), (updates, {x: data, t: False})]
out = [y, tf.global_variables()[2], tf.global_variables()[3]]
feed = {x: data, t: False}
# batch_normalization_fused_by_a_tensor
x = tf.placeholder(tf.float32, [None, 2, 2, 3], name="x"); t = tf.placeholder(tf.bool, [], name="t")
y = tf.layers.batch_normalization(x, training=t, momentum=0.5)
updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS); data = np.arange(24, dtype=np.float32).reshape(2, 2, 2, 3) ** 1.5
before = [tf.global_variables_initializer(), (updates, {x: data, t: True}), (updates, {x: data, t: False})]
out = [y, tf.global_variables()[2], tf.global_variables()[3]]
feed = {x: data, t: True}
# batch_normalization_of_a_bad_axis
tf.layers.batch_normalization(tf.zeros([2, 3]), axis=4)
# batch_normalization_of_another_axis
x = tf.constant(np.arange(24, dtype=np.float32).reshape(2, 3, 4)); y = tf.layers.batch_normalization(x, axis=1, training=True, fused=False)
before = [tf.global_variables_initializer()]
out = [y, *tf.get_collection(tf.GraphKeys.UPDATE_OPS)]
# renamed_layers
said = [callable(getattr(tf.layers, n)) for n in ("AveragePooling1D", "MaxPooling3D", "Conv2DTranspose", "SeparableConv1D", "SeparableConv2D", "BatchNormalization", "Dropout", "Flatten", "InputSpec", "Layer", "Conv3DTranspose")]
"""

_LOSSES = """
# mean_squared_error
x = tf.placeholder(tf.float32, [None, 3], name="x"); y = tf.placeholder(tf.float32, [None, 3], name="y")
loss = tf.losses.mean_squared_error(y, x)
said = [loss.name, [l.name for l in tf.get_collection(tf.GraphKeys.LOSSES)]]
out = loss; feed = {x: np.arange(6).reshape(2, 3), y: np.arange(6).reshape(2, 3)[::-1] * 0.5}
# mean_squared_error_weighted
x = tf.placeholder(tf.float32, [4, 3], name="x"); y = tf.placeholder(tf.float32, [4, 3], name="y")
a = tf.losses.mean_squared_error(y, x, weights=[[1.0], [0.0], [2.0], [1.0]]); b = tf.losses.mean_squared_error(y, x, 2.0, reduction=tf.losses.Reduction.SUM); c = tf.losses.mean_squared_error(y, x, reduction=tf.losses.Reduction.NONE, loss_collection=None)
d = tf.losses.mean_squared_error(y, x, reduction=tf.losses.Reduction.MEAN); e = tf.losses.mean_squared_error(y, x, reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE, scope="mine"); f = tf.losses.mean_squared_error(y, x, reduction=tf.losses.Reduction.SUM_OVER_NONZERO_WEIGHTS)
said = [l.name for l in tf.losses.get_losses()]
out = [a, b, c, d, e, f]; feed = {x: np.arange(12).reshape(4, 3), y: np.arange(12).reshape(4, 3)[::-1] * 0.5}
# mean_squared_error_of_a_batch_of_weights
x = tf.placeholder(tf.float32, [None, 3], name="x"); w = tf.placeholder(tf.float32, [None, 1], name="w")
out = [tf.losses.mean_squared_error(tf.zeros_like(x), x, w), tf.losses.absolute_difference(tf.zeros_like(x), x, w, reduction=tf.losses.Reduction.MEAN)]
feed = {x: np.arange(6, dtype=np.float32).reshape(2, 3), w: [[1.0], [0.0]]}
# all_losses
x = tf.constant([[0.2, 0.7, 0.1], [0.5, 0.1, 0.4]]); y = tf.constant([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]); w = tf.constant([[1.0], [3.0]])
out = [f(y, x, weights=k) for f in (tf.losses.absolute_difference, tf.losses.mean_squared_error, tf.losses.hinge_loss, tf.losses.huber_loss, tf.losses.log_loss, tf.losses.sigmoid_cross_entropy) for k in (1.0, w)]
out += [tf.losses.softmax_cross_entropy(y, x), tf.losses.softmax_cross_entropy(y, x, weights=[1.0, 0.0], label_smoothing=0.1), tf.losses.sigmoid_cross_entropy(y, x, label_smoothing=0.1), tf.losses.sparse_softmax_cross_entropy([1, 0], x), tf.losses.sparse_softmax_cross_entropy([[1], [0]], x, weights=[2.0, 1.0]), tf.losses.cosine_distance(y, x, axis=1), tf.losses.cosine_distance(y, x, dim=1, weights=0.5),
        tf.losses.huber_loss(y, x, delta=0.2), tf.losses.mean_pairwise_squared_error(y, x), tf.losses.mean_pairwise_squared_error(y, x, weights=w), tf.losses.compute_weighted_loss(x, 0.0), tf.losses.get_total_loss()]
said = [[o.name for o in out], sorted(tf.losses.Reduction.all())]
# names_of_losses
x = tf.placeholder(tf.float32, [4, 3], name="x"); y = tf.placeholder(tf.float32, [4, 3], name="y"); l = tf.placeholder(tf.int32, [4], name="l")
for f in (tf.losses.absolute_difference, tf.losses.hinge_loss, tf.losses.huber_loss, tf.losses.log_loss, tf.losses.sigmoid_cross_entropy, tf.losses.softmax_cross_entropy):
    f(y, x)
tf.losses.sparse_softmax_cross_entropy(l, x); tf.losses.cosine_distance(y, x, 1)
said = [t.name for t in tf.losses.get_losses()]
# total_loss =
x = tf.placeholder(tf.float32, [], name="x")
tf.losses.add_loss(x * 2.0); tf.losses.add_loss(x * 3.0); tf.losses.add_loss(x, None); tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, x * 5.0)
total = tf.losses.get_total_loss(); alone = tf.losses.get_total_loss(False, name="alone"); reg = tf.losses.get_regularization_loss()
said = [total.name, [l.name for l in tf.losses.get_losses()], [l.name for l in tf.losses.get_regularization_losses()]]
# no_regularization_loss =
a = tf.losses.get_regularization_loss()
# loss_without_labels
tf.losses.mean_squared_error(None, tf.zeros([2]))
# loss_of_other_shapes
tf.losses.mean_squared_error(tf.zeros([2]), tf.zeros([3]))
# loss_of_weights_that_do_not_broadcast
tf.losses.mean_squared_error(tf.zeros([2, 3]), tf.zeros([2, 3]), weights=[1.0, 2.0])
# loss_of_a_bad_reduction
tf.losses.mean_squared_error(tf.zeros([2]), tf.zeros([2]), reduction="some")
# cosine_distance_without_axis
tf.losses.cosine_distance(tf.zeros([2]), tf.zeros([2]))
"""

_METRICS = """
# metrics
l = tf.constant([1, 0, 1, 1]); p = tf.constant([1, 1, 0, 1]); x = tf.constant([0.9, 0.2, 0.6, 0.4]); y = tf.constant([1.0, 0.5, 0.0, 2.0]); w = tf.constant([1.0, 2.0, 0.0, 1.0]); b = tf.cast(l, tf.bool)
made = [tf.metrics.accuracy(l, p), tf.metrics.accuracy(l, p, w), tf.metrics.mean(x), tf.metrics.mean(x, w), tf.metrics.mean_squared_error(y, x), tf.metrics.root_mean_squared_error(y, x, w), tf.metrics.mean_absolute_error(y, x), tf.metrics.mean_relative_error(y, x, y + 1.0),
        tf.metrics.precision(l, p), tf.metrics.recall(l, p), tf.metrics.precision(l, p, w), tf.metrics.true_positives(l, p), tf.metrics.false_positives(l, p, w), tf.metrics.true_negatives(l, p), tf.metrics.false_negatives(l, p), tf.metrics.percentage_below(x, 0.5),
        tf.metrics.mean_iou(l, p, 2), tf.metrics.mean_per_class_accuracy(l, p, 2), tf.metrics.mean_cosine_distance(tf.nn.l2_normalize([y]), tf.nn.l2_normalize([x]), 1), tf.metrics.mean_tensor(tf.stack([x, y])), tf.metrics.auc(b, x, num_thresholds=11), tf.metrics.auc(b, x, w, num_thresholds=11, curve="PR", summation_method="careful_interpolation")]
made += [tf.metrics.precision_at_thresholds(b, x, [0.3, 0.5]), tf.metrics.recall_at_thresholds(b, x, [0.3, 0.5]), tf.metrics.true_positives_at_thresholds(b, x, [0.3, 0.5]), tf.metrics.sensitivity_at_specificity(b, x, 0.5, num_thresholds=5), tf.metrics.specificity_at_sensitivity(b, x, 0.5, num_thresholds=5)]
said = [[(v.name, u.name) for v, u in made], [v.name for v in tf.local_variables()], len(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)), tf.global_variables()]
before = [tf.local_variables_initializer(), [u for v, u in made], [u for v, u in made]]
out = [v for v, u in made]
# metric_nodes =
l = tf.placeholder(tf.int32, [None], name="l"); p = tf.placeholder(tf.int32, [None], name="p")
value, update = tf.metrics.accuracy(l, p)
# metric_collections
v, u = tf.metrics.mean(tf.constant(1.0), metrics_collections=["m"], updates_collections=["u"], name="mine")
said = [[t.name for t in tf.get_collection("m")], [t.name for t in tf.get_collection("u")], v.name, u.name, [t.name for t in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)]]
# metrics_of_the_best_classes
y = tf.constant([[0, 2], [1, 0]], tf.int64); p = tf.constant([[0.1, 0.5, 0.3], [0.2, 0.6, 0.1]]); w = tf.constant([1.0, 3.0])
made = [tf.metrics.recall_at_k(y, p, 2), tf.metrics.precision_at_k(y, p, 2, weights=w), tf.metrics.recall_at_k(y, p, 1, class_id=1), tf.metrics.recall_at_top_k(y, tf.constant([[1], [1]], tf.int64), 1), tf.metrics.precision_at_top_k(y, tf.constant([[1, 2], [1, 2]], tf.int64), 2)]
said = [[v.name for v, u in made[:1]], [u.name for v, u in made[:1]], [v.name for v in tf.local_variables()]]
before = [tf.local_variables_initializer(), [u for v, u in made]]
out = [v for v, u in made]
# confusion_matrix
out = [tf.confusion_matrix([0, 1, 1], [1, 1, 0]), tf.math.confusion_matrix([0, 2], [1, 1], 4, tf.float32, weights=[0.5, 2.0])]
# metric_of_other_shapes
tf.metrics.accuracy(tf.zeros([2]), tf.zeros([3]))
# metric_of_unknown_values
tf.metrics.auc(tf.zeros([2], tf.bool), tf.constant([2.0, 3.0]), curve="NONE")
# metric_before_initialisation
out = tf.metrics.mean(tf.constant(1.0))[1]
# metric_without_values
v, u = tf.metrics.mean(tf.constant([1.0]))
before = [tf.local_variables_initializer()]
out = v
"""

_NN = """
# embedding_lookup_of_parts
a = tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2)); b = tf.constant(np.arange(10, 16, dtype=np.float32).reshape(3, 2))
ids = tf.placeholder(tf.int32, [None], name="ids")
out = [tf.nn.embedding_lookup([a, b], ids), tf.nn.embedding_lookup([a, b], ids, "div"), tf.nn.embedding_lookup(a, [[0, 1], [3, 3]], max_norm=2.0), tf.nn.embedding_lookup([a, b], [[0, 1], [3, 3]], max_norm=2.0)]
feed = {ids: [0, 5, 3, 1]}; said = [o.shape.as_list() for o in out]
# embedding_lookup_sparse
t = tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2)); s = tf.SparseTensor([[0, 0], [0, 2], [1, 1], [2, 0]], tf.constant([1, 3, 0, 3]), [3, 4]); w = tf.SparseTensor(s.indices, [1.0, 2.0, 0.5, 3.0], s.dense_shape)
out = [tf.nn.embedding_lookup_sparse(t, s, k, combiner=c) for k in (None, w) for c in ("sum", "mean", "sqrtn")]
# embedding_lookup_of_a_bad_strategy
tf.nn.embedding_lookup([tf.zeros([2, 2]), tf.zeros([2, 2])], [0], "some")
# moments_from_statistics
x = tf.constant(np.arange(12, dtype=np.float32).reshape(3, 4)); s = tf.nn.sufficient_statistics(x, [0], shift=1.5)
out = [*s[:3], *tf.nn.normalize_moments(*s), *tf.nn.weighted_moments(x, [0], tf.constant([[1.0], [2.0], [0.0]])), tf.nn.batch_norm_with_global_normalization(x, 1.0, 2.0, 0.5, 3.0, 1e-3, True)]
# ctc
x = tf.constant(np.sin(np.arange(24, dtype=np.float32)).reshape(4, 2, 3)); n = tf.constant([4, 3]); y = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 1, 1]), [2, 2])
g = tf.nn.ctc_greedy_decoder(x, n); b = tf.nn.ctc_beam_search_decoder(x, n, beam_width=5, top_paths=2, merge_repeated=False)
out = [tf.nn.ctc_loss(y, x, n), g[0][0].values, g[1], b[0][0].values, b[0][1].indices, b[1]]
# lstm_cell
def weights(shape, dtype=None, partition_info=None):
    return tf.constant(np.sin(np.arange(int(np.prod(shape))) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.constant(np.cos(np.arange(12, dtype=np.float32)).reshape(2, 2, 3))
cell = tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, cell_clip=0.5, num_proj=2, proj_clip=0.3, initializer=weights)
o, s = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell([cell, tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.LSTMCell(2, initializer=weights))]), x, dtype=tf.float32)
said = [[v.name for v in tf.global_variables()], cell.state_size, cell.output_size, [v.name for v in cell.trainable_variables], [v.name for v in cell.weights]]
before = [tf.global_variables_initializer()]
out = [o, s[0].c, s[0].h, s[1].c]
# dropout_wrapper
cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicRNNCell(2), input_keep_prob=0.5, output_keep_prob=0.75, state_keep_prob=0.9, seed=7)
x = tf.placeholder(tf.float32, [3, 2], name="x"); s = tf.placeholder(tf.float32, [3, 2], name="s")
with tf.variable_scope("v", initializer=tf.ones_initializer()): o, after = cell(x, s)
before = [tf.global_variables_initializer()]
out = [o, after]; feed = {x: np.arange(6).reshape(3, 2), s: np.ones((3, 2))}
# static_bidirectional_rnn
def weights(shape, dtype=None, partition_info=None):
    return tf.constant(np.sin(np.arange(int(np.prod(shape))) * 0.7).reshape(shape) * 0.4, tf.float32)
x = [tf.constant(np.cos(np.arange(4, dtype=np.float32) + k).reshape(2, 2)) for k in range(3)]
with tf.variable_scope("m", initializer=weights):
    o, f, b = tf.nn.static_bidirectional_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.nn.rnn_cell.GRUCell(2), x, dtype=tf.float32, sequence_length=[3, 2])
said = [v.name for v in tf.global_variables()]
before = [tf.global_variables_initializer()]
out = [o, f, b]
# raw_rnn
x = tf.constant(np.cos(np.arange(12, dtype=np.float32)).reshape(3, 2, 2)); n = tf.constant([3, 2])
ta = tf.TensorArray(tf.float32, 3).unstack(x); cell = tf.nn.rnn_cell.BasicRNNCell(2)
def loop_fn(time, output, state, loop_state):
    done = time >= n
    following = tf.cond(tf.reduce_all(done), lambda: tf.zeros([2, 2]), lambda: ta.read(time))
    return done, following, cell.zero_state(2, tf.float32) if output is None else state, output, None
with tf.variable_scope("m", initializer=tf.ones_initializer()):
    arrays, state, _ = tf.nn.raw_rnn(cell, loop_fn)
said = [v.name for v in tf.global_variables()]
before = [tf.global_variables_initializer()]
out = [arrays.stack(), state]
# segments
d = tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2))
out = [tf.unsorted_segment_mean(d, [0, 2, 0, 2], 3), tf.unsorted_segment_sqrt_n(d, [0, 2, 0, 2], 3), tf.sparse_segment_sum(d, [0, 3, 1], [0, 0, 1]), tf.sparse_segment_mean(d, [0, 3, 1], [0, 0, 2], num_segments=4), tf.sparse_segment_sqrt_n(d, [0, 3, 1], [0, 0, 1])]
"""

_OTHERS = """
# random_functions
tf.set_random_seed(3); x = tf.constant(np.arange(24, dtype=np.float32).reshape(4, 6)); l = tf.constant([[0.1, 0.7, 0.2], [2.0, 0.0, 1.0]])
out = [tf.random_crop(x, [2, 3]), tf.random_crop(x, [4, 6], seed=5), tf.multinomial(l, 5), tf.multinomial(l, 3, seed=4, output_dtype=tf.int32), tf.random.categorical(l, 2, seed=1)]
said = [o.shape.as_list() for o in out]
# random_crop_of_too_little
out = tf.random_crop(tf.zeros([2, 2]), [3, 1])
# sparse_forms
s = tf.SparseTensor([[0, 1], [2, 0]], [1.5, 2.5], [3, 4])
out = [tf.cast(s, tf.int32), tf.to_int64(s), tf.shape(s), tf.size(s), tf.rank(s), tf.sparse_tensor_to_dense(s), tf.sparse.to_dense(s, -1.0), tf.sparse_to_dense([1, 2], [4], [5, 6], 9), tf.sparse_retain(s, [False, True]), tf.sparse.from_dense([[0, 3], [4, 0]]), tf.sparse_tensor_dense_matmul(s, tf.ones([4, 2]) * [1.0, 2.0]), tf.sparse.sparse_dense_matmul(s, tf.ones([3, 2]), adjoint_a=True), tf.sparse_reduce_sum(s, 1)]
# assertions
x = tf.placeholder(tf.float32, [None], name="x")
with tf.control_dependencies([tf.assert_positive(x), tf.assert_less(x, 9.0), tf.assert_rank(x, 1), tf.assert_equal([1, 2], [1, 2]), tf.assert_rank_at_least(x, 1), tf.assert_type(x, tf.float32), tf.assert_integer(tf.constant(1)), tf.assert_non_negative(x), tf.assert_greater_equal(x, 1.0), tf.assert_none_equal(x, 7.0)]):
    out = tf.identity(x)
feed = {x: [1.0, 2.0]}
# assertion_that_fails_at_the_run
x = tf.placeholder(tf.float32, [None], name="x")
with tf.control_dependencies([tf.assert_less_equal(x, 1.0, message="too large")]):
    out = tf.identity(x)
feed = {x: [1.0, 2.0]}
# assertion_that_fails_at_once
tf.assert_equal([1, 2], [1, 3], message="differ")
# assertion_of_another_rank
tf.assert_rank(tf.zeros([2]), 2)
# assertion_of_another_type
tf.assert_type(tf.zeros([2]), tf.int32)
# assertion_of_integers
tf.assert_integer(tf.zeros([2]))
# assertion_of_a_scalar
tf.assert_scalar(tf.zeros([2]))
# sampled_losses
w = tf.constant(np.sin(np.arange(12, dtype=np.float32)).reshape(6, 2)); b = tf.constant(np.arange(6, dtype=np.float32) * 0.1); y = tf.constant([[1], [4]], tf.int64); x = tf.constant([[0.5, 1.0], [-1.0, 0.25]])
s = (tf.constant([0, 4, 3], tf.int64), tf.constant([[0.5], [0.25]]), tf.constant([0.5, 0.25, 0.125]))
out = [tf.nn.nce_loss(w, b, y, x, 3, 6, sampled_values=s), tf.nn.sampled_softmax_loss(w, b, y, x, 3, 6, sampled_values=s), tf.nn.nce_loss([w[:3], w[3:]], [b[:3], b[3:]], tf.constant([[1, 2], [4, 5]]), x, 3, 6, num_true=2, sampled_values=(s[0], tf.ones([2, 2]), s[2]), remove_accidental_hits=True, partition_strategy="div")]
# sampled_losses_of_candidates
tf.set_random_seed(5)
w = tf.constant(np.sin(np.arange(80, dtype=np.float32)).reshape(40, 2)); b = tf.constant(np.arange(40, dtype=np.float32) * 0.1); y = tf.constant([[1], [4]], tf.int64); x = tf.constant([[0.5, 1.0], [-1.0, 0.25]])
loss = tf.nn.sampled_softmax_loss(w, b, y, x, 5, 40, seed=7)
out = [tf.nn.nce_loss(w, b, y, x, 5, 40), loss, *[tf.convert_to_tensor(g) for g in tf.gradients(loss, [w, b, x])]]
# plain_ops =
x = tf.placeholder(tf.float32, [4], name="x"); c = tf.cast(x, tf.complex64)
made = [tf.tensor_scatter_update(x, [[1]], [5.0]), tf.tensor_scatter_nd_add(x, [[1]], [5.0]), tf.fft(c), tf.ifft(c), tf.fake_quant_with_min_max_args(x, -1.0, max=2.0, num_bits=4)]
# ordering
x = tf.constant([[3, 1, 2], [5, 9, 4]]); y = tf.constant([[0.5, -1.0], [2.0, 7.0]])
out = [tf.sort(x), tf.sort(x, direction="DESCENDING"), tf.argsort(x), tf.sort(y, axis=0), tf.argsort(y, 0, "DESCENDING"), tf.batch_gather(x, [[2, 0], [1, 1]])]
# templates
def f(x, twice=False):
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    return v * x
t = tf.make_template("t", f, twice=True); a = t(1.0); b = t(2.0); u = tf.make_template("t", f); c = u(3.0)
said = [[v.name for v in tf.global_variables()], a.name, b.name, c.name, [v.name for v in t.variables]]
# convolutions_by_rank
x = tf.constant(np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)); k = tf.ones([2, 2, 1, 1])
out = [tf.nn.convolution(x, k, "SAME"), tf.nn.convolution(x, k, "VALID", strides=[2, 2]), tf.nn.convolution(x[:, :, 0], tf.ones([2, 1, 1]), "VALID"), tf.nn.atrous_conv2d(x, k, 2, "VALID"), tf.nn.conv3d_transpose(tf.ones([1, 1, 1, 1, 1]), tf.ones([2, 2, 2, 1, 1]), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1])]
"""

LAYER_SNIPPETS: tuple[Snippet, ...] = read_snippets(
    "\n".join(
        text.strip()
        for text in (
            VARIABLES,
            INITIALIZERS,
            _LAYERS,
            _LOSSES,
            _METRICS,
            _NN,
            NN_SNIPPETS,
            _OTHERS,
        )
    )
)
