"""Programs of row 70: images of CIFAR-10 and of files, on their way into a network, and sounds. The
form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

IMAGE_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 70_cifar10
rows = np.random.RandomState(0).randint(0, 256, (6, 1 + 8 * 8 * 3)).astype(np.uint8); open(folder + "batch.bin", "wb").write(rows.tobytes())
queue = tf.train.string_input_producer([folder + "batch.bin"], shuffle=False, num_epochs=1); key, value = tf.FixedLengthRecordReader(1 + 8 * 8 * 3).read(queue)
record = tf.decode_raw(value, tf.uint8); label = tf.cast(tf.strided_slice(record, [0], [1]), tf.int32); major = tf.reshape(tf.strided_slice(record, [1], [1 + 8 * 8 * 3]), [3, 8, 8]); image = tf.cast(tf.transpose(major, [1, 2, 0]), tf.float32)
tf.set_random_seed(3); cropped = tf.random_crop(image, [6, 6, 3], seed=1); flipped = tf.image.random_flip_left_right(cropped, seed=2); brighter = tf.image.random_brightness(flipped, max_delta=63, seed=4); contrast = tf.image.random_contrast(brighter, lower=0.2, upper=1.8, seed=5); standard = tf.image.per_image_standardization(contrast); standard.set_shape([6, 6, 3]); label.set_shape([1])
images, labels = tf.train.batch([standard, label], batch_size=3, num_threads=1, capacity=10)
with tf.Session() as s:
    s.run([tf.global_variables_initializer(), tf.local_variables_initializer()]); coord = tf.train.Coordinator(); threads = tf.train.start_queue_runners(s, coord)
    for _ in range(2): x, y = s.run([images, labels]); log.append([y, x.shape, x[:, 1, 2], x.sum(axis=(1, 2, 3)) * 1e-3, (x * x).mean()])
    log.append(raises("OutOfRangeError", "", lambda: s.run(images))); coord.request_stop(); coord.join(threads)
# 70_cifar10_evaluation
image = tf.constant(np.random.RandomState(1).randint(0, 256, (8, 9, 3)).astype(np.float32)); cropped = tf.image.resize_image_with_crop_or_pad(image, 6, 6); standard = tf.image.per_image_standardization(cropped)
with tf.Session() as s: log.append([s.run(standard)[2:4], standard.shape.as_list(), tf.image.resize_image_with_crop_or_pad(image, 12, 5).shape.as_list()])
# 70_noise
tf.set_random_seed(7); image = tf.constant(np.arange(24, dtype=np.float32).reshape(2, 4, 3)); noisy = image + tf.random_normal(tf.shape(image), stddev=2.0, seed=3)
with tf.Session() as s: log.append([s.run(noisy), s.run(noisy)])
# 70_random_streams
tf.set_random_seed(5); image = tf.constant(np.random.RandomState(2).rand(4, 5, 3).astype(np.float32)); batch = tf.stack([image, image, image])
changed = [tf.image.random_hue(image, 0.3, seed=1), tf.image.random_saturation(image, 0.5, 1.5, seed=2), tf.image.random_contrast(image, 0.2, 1.8, seed=3), tf.image.random_brightness(image, 0.4, seed=4), tf.image.random_flip_up_down(batch, seed=5), tf.image.random_flip_left_right(image, seed=6), tf.random_crop(image, [2, 3, 3], seed=7)]
with tf.Session() as s: log.append([s.run(changed), s.run(changed)])
# 70_sample_distorted_bounding_box
begin, size, box = tf.image.sample_distorted_bounding_box([40, 60, 3], [[[0.1, 0.2, 0.5, 0.7], [0.4, 0.1, 0.9, 0.3]]], seed=3, seed2=9, min_object_covered=0.3, aspect_ratio_range=[0.5, 2.0], area_range=[0.1, 0.9], max_attempts=20)
with tf.Session() as s: log.append([s.run([begin, size, box]) for _ in range(5)])
with tf.Session() as s: log.append([raises("InvalidArgumentError", "All bounding box coordinates must be in [0.0, 1.0]", lambda: s.run(tf.image.sample_distorted_bounding_box([4, 6, 3], [[[0.0, 0.0, 2.0, 1.0]]]).begin)), raises("InvalidArgumentError", "No bounding boxes provided as input", lambda: s.run(tf.image.sample_distorted_bounding_box([4, 6, 3], np.zeros((1, 0, 4), np.float32)).begin)), raises("ValueError", "", lambda: tf.image.sample_distorted_bounding_box([4, 6], [[[0.0, 0.0, 1.0, 1.0]]]))])
# 70_colors
image = np.random.RandomState(3).rand(2, 3, 3).astype(np.float32); whole = (image * 255).astype(np.uint8)
made = [f(x) for x in (image, whole) for f in (lambda x: tf.image.adjust_hue(x, 0.2), lambda x: tf.image.adjust_saturation(x, 0.5), lambda x: tf.image.adjust_contrast(x, 1.5), lambda x: tf.image.adjust_brightness(x, 0.1), lambda x: tf.image.adjust_gamma(x, 2.0, 0.5), tf.image.rgb_to_grayscale)] + [f(image) for f in (tf.image.rgb_to_hsv, tf.image.rgb_to_yiq, tf.image.rgb_to_yuv)] + [tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(image)), tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(image))]
with tf.Session() as s: log.append(s.run(made))
# 70_gradients
image = tf.constant(np.random.RandomState(4).rand(1, 5, 6, 3).astype(np.float32)); boxes = tf.constant([[0.1, 0.2, 0.7, 0.9], [0.5, 0.0, 1.0, 0.6]])
weights = np.arange(3, dtype=np.float32) + 1
made = [tf.gradients(tf.image.rgb_to_hsv(image) * weights, image)[0], tf.gradients(tf.image.resize_bilinear(image, [3, 9]), image)[0], tf.gradients(tf.image.crop_and_resize(image, boxes, [0, 0], [3, 3]) * weights, [image, boxes]), tf.gradients(tf.image.per_image_standardization(image[0]) * weights, image)[0]]
with tf.Session() as s: found = s.run(made); log.append([np.round(v, 3) for v in (*found[:2], *found[2], found[3])])
log.append([tf.gradients(tf.image.hsv_to_rgb(image), image), raises("LookupError", "AdjustHue", lambda: tf.gradients(tf.image.adjust_hue(image, 0.1), image))])
# 70_png
image = np.random.RandomState(5).randint(0, 256, (5, 7, 3)).astype(np.uint8); deep = (image.astype(np.uint16) << 8) + 3
with tf.Session() as s:
    s.run(tf.write_file(folder + "a.png", tf.image.encode_png(image))); found = tf.image.decode_png(tf.read_file(folder + "a.png"), channels=3); log.append([found.shape.as_list(), bool((s.run(found) == image).all())])
    log.append([s.run(tf.image.decode_png(tf.image.encode_png(deep), dtype=tf.uint16))[2], s.run(tf.image.decode_png(tf.image.encode_png(image), 1))[1, :, 0], s.run(tf.image.decode_image(tf.image.encode_png(image), dtype=tf.float32))[0, :2], s.run(tf.shape(tf.image.encode_png(np.stack([image, image]))))])
    log.append([raises("InvalidArgumentError", "Unknown image file format", lambda: s.run(tf.image.decode_png("nothing"))), raises("InvalidArgumentError", "Input is empty", lambda: s.run(tf.image.decode_jpeg(""))), raises("InvalidArgumentError", "Invalid PNG data", lambda: s.run(tf.image.decode_png(s.run(tf.image.encode_png(image))[:90]))), raises("ValueError", "Shape must be rank 0 but is rank 1", lambda: tf.image.decode_png(["a"]))])
# 70_jpeg
rows, columns = np.mgrid[0:24, 0:32]; image = np.stack([rows * 9, columns * 7, rows + columns], -1).astype(np.uint8)
file = tf.image.encode_jpeg(image, quality=95); found = tf.image.decode_jpeg(file, channels=3); small = tf.image.decode_jpeg(file, ratio=4); part = tf.image.decode_and_crop_jpeg(file, [4, 8, 10, 12], dct_method="INTEGER_ACCURATE"); gray = tf.image.decode_jpeg(file, channels=1); resized = tf.image.resize_images(found, [12, 20])
with tf.Session() as s: values = s.run([found, small, part, gray, resized]); log.append([[v.shape for v in values], bool(np.abs(values[0].astype(int) - image).max() <= 8), s.run([tf.image.extract_jpeg_shape(file), tf.image.is_jpeg(file), tf.image.is_jpeg("GIF89a")]), [t.shape.as_list() for t in (found, small, part, gray, resized)]])
with tf.Session() as s: log.append([raises("InvalidArgumentError", "Invalid JPEG data or crop window", lambda: s.run(tf.image.decode_and_crop_jpeg(file, [4, 8, 30, 12]))), raises("ValueError", "jpeg encoding range must be between 0 and 100.", lambda: tf.image.random_jpeg_quality(image, -1, 4)), raises("InvalidArgumentError", "", lambda: s.run(tf.image.decode_jpeg(file, ratio=3)))])
# 70_map_example
image = np.random.RandomState(6).randint(0, 256, (6, 8, 3)).astype(np.uint8)
with tf.Session() as s: [s.run(tf.write_file(folder + "%d.png" % k, tf.image.encode_png(image[k % 2 :]))) for k in range(4)]
files = tf.data.Dataset.from_tensor_slices(([folder + "%d.png" % k for k in range(4)], [0, 1, 2, 3]))
batches = files.map(lambda name, label: (tf.image.resize_images(tf.image.decode_png(tf.read_file(name), channels=3), [4, 4]), label)).batch(3); following = tf.data.make_one_shot_iterator(batches).get_next()
with tf.Session() as s:
    for _ in range(2): x, y = s.run(following); log.append([x.shape, x[:, 1, 1], y])
    log.append(raises("OutOfRangeError", "End of sequence", lambda: s.run(following)))
# 70_drawing
image = np.zeros((1, 6, 8, 3), np.float32); boxes = [[[0.0, 0.1, 0.6, 0.5], [0.4, 0.3, 1.0, 0.9]]]; pixels = np.arange(60, dtype=np.float32).reshape(1, 6, 5, 2)
with tf.Session() as s: log.append(s.run([tf.image.draw_bounding_boxes(image, boxes), tf.image.draw_bounding_boxes(image, boxes, colors=[[0.1, 0.2, 0.3]]), tf.image.extract_glimpse(pixels, [2, 3], [[0.1, -0.2]]), tf.image.extract_glimpse(pixels, [2, 2], [[2.0, 2.0]], centered=False, normalized=False)]))
# 70_sounds
sound = np.sin(np.arange(400, dtype=np.float32) * 0.2).reshape(200, 2) * 0.9
with tf.Session() as s:
    file = tf.audio.encode_wav(sound, 8000); audio, rate = tf.audio.decode_wav(file, desired_samples=203); log.append([s.run(file)[:44], s.run([audio[:3], audio[-4:], rate, tf.shape(audio)]), s.run(tf.audio.decode_wav(file, desired_channels=1).audio[:4])])
    spectrum = tf.raw_ops.AudioSpectrogram(input=sound, window_size=32, stride=16); log.append(s.run([spectrum[0, :2, :6], tf.raw_ops.Mfcc(spectrogram=spectrum, sample_rate=8000, filterbank_channel_count=5, dct_coefficient_count=4)[:, 3]]))
    log.append([raises("InvalidArgumentError", "Data too short", lambda: s.run(tf.audio.decode_wav("").audio)), raises("InvalidArgumentError", "Header mismatch: Expected RIFF but found RIFX", lambda: s.run(tf.audio.decode_wav("RIFX0000").audio)), raises("InvalidArgumentError", "sample_rate must be in (0, 2^32)", lambda: s.run(tf.audio.encode_wav(sound, 0)))])
# 70_signals
sound = np.sin(np.arange(64, dtype=np.float32) * 0.3); frames = tf.signal.stft(sound, 16, 8); mel = tf.signal.linear_to_mel_weight_matrix(4, 9, 8000, 100.0, 3000.0); loud = tf.matmul(tf.abs(frames), mel)
with tf.Session() as s: log.append(s.run([tf.abs(frames)[:2], mel, tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(loud + 1e-6))[:2], tf.signal.mdct(sound, 16)[1], tf.signal.inverse_mdct(tf.signal.mdct(sound, 16))[8:12], tf.signal.inverse_stft(frames, 16, 8, window_fn=tf.signal.inverse_stft_window_fn(8))[16:20]]))
""")
