"""The one error type for mistakes in what the user handed in."""


class InputError(ValueError):
    """Bad input from outside: a file, a configuration value, a command line.

    The message is one line that names the file, the field and what would be right.
    Entry points print it and exit with a non-zero status instead of showing a traceback.
    """
