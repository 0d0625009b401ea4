#!/usr/bin/env node
// CommonJS, like the file it loads: Node starts its module loader only when something else is imported. An older Node
// would fail in the middle of that file, so the words here are those that any Node knows.
var version = process.versions.node.split('.').map(Number);
if (version[0] < 20 || (version[0] === 20 && version[1] < 19)) {
  process.stderr.write(
    'error: svcctl needs Node.js 20.19 or newer, and this is ' + process.version + '.\n',
  );
  process.exit(2);
}
require('../dist/svcctl/main.cjs');
