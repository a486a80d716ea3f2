"""The version of flowc: part of every cache key and of every library's metadata. And what programs
of TensorFlow ask of `tf.version`."""

FLOWC_VERSION = "0.1.0"

VERSION = "1.15.5"  # of TensorFlow, whose API this is: programs compare it with others

GIT_VERSION = f"v{FLOWC_VERSION}"
COMPILER_VERSION = "none"  # flowc is no compiled program
CXX11_ABI_FLAG = 1
CXX_VERSION = 201703
MONOLITHIC_BUILD = 0
GRAPH_DEF_VERSION = 2474  # of the graphs that flowc writes: that of TensorFlow 2.21
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
