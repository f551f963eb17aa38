# transformers.utils.auto_docstring: texts for people are not made.

from collections.abc import Mapping


def auto_docstring(value=None, **options):
    return value if value is not None else lambda value: value


auto_class_docstring = auto_method_docstring = auto_docstring


def parse_docstring(text, *args, **kwargs):
    return {}, ""


class _Args:
    pass


ModelArgs = ModelOutputArgs = ImageProcessorArgs = ClassAttrs = ClassDocstring = _Args
ClassDocstringArgs = ProcessorArgs = _Args


def set_min_indent(text, indent):
    return text


def get_args_doc_from_source(sources):
    return {}
