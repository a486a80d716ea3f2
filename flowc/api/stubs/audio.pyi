# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "decode_wav",
    "encode_wav",
]
from flowc.api.audio.wav_files import decode_wav as decode_wav
from flowc.api.audio.wav_files import encode_wav as encode_wav

