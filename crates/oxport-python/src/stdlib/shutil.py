# No program is found, and no terminal; the rest is refused.


def which(cmd, mode=None, path=None):
    return None


def get_terminal_size(fallback=(80, 24)):
    return fallback
