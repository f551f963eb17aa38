# Tracebacks as text: there are none within a program.


def format_exception(*args, **kwargs):
    return []


def format_exc(*args, **kwargs):
    return ""


def print_exc(*args, **kwargs):
    return None


format_tb = format_stack = extract_stack = extract_tb = format_exception
print_exception = print_stack = print_tb = print_exc
