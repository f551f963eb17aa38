# transformers.utils.doc: texts for people are not made.


def _keep(*args, **options):
    return lambda value: value


add_code_sample_docstrings = add_end_docstrings = add_start_docstrings = add_start_docstrings_to_model_forward = _keep
replace_return_docstrings = _keep


def copy_func(function):
    return getattr(function, "__func__", function)
