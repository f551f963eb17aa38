# huggingface_hub.dataclasses: classes whose fields are checked. Types are not checked here.

from dataclasses import MISSING, fields


def strict(cls=None, *, accept_kwargs=None):
    def wrap(cls):
        if not accept_kwargs:
            return cls

        def __init__(self, *args, **kwargs):
            if args:
                raise ValueError(f"{cls.__name__} accepts only keyword arguments, but found `{len(args)}` positional args.")
            for field in fields(self):
                if field.name in kwargs:
                    setattr(self, field.name, kwargs.pop(field.name))
                elif field.default is not MISSING:
                    setattr(self, field.name, field.default)
                elif field.default_factory is not MISSING:
                    setattr(self, field.name, field.default_factory())
                else:
                    raise TypeError(f"Missing required field - '{field.name}'")
            self.__post_init__(**kwargs)

        cls.__init__ = __init__
        return cls

    return wrap if cls is None else wrap(cls)


def validated_field(validator, default=MISSING, **options):
    from dataclasses import field

    return field(default=default)


def as_validated_field(validator):
    from dataclasses import field

    return lambda default=MISSING, **options: field(default=default)
