#!/usr/bin/env node
// CommonJS, like the file it loads: Node starts its module loader only when something else is imported.
require('../dist/svcctl/main.cjs');
