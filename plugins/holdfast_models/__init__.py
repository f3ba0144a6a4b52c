"""Models, with a base class for model plugins, retries, and the plugins ``openai`` and ``anthropic``.

:class:`holdfast_models.base.ModelPlugin` is the base class. A plugin is loaded at every agent event, so nothing is
imported here.
"""
