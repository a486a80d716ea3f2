"""Sounds: WAV files, spectrograms, mel-frequency cepstral coefficients."""
