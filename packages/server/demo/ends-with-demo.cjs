// Loaded into the service of the demo before its first module: ends it as SIGTERM does once the demo is gone, which may have
// been killed. The channel is there for that alone, and keeps nothing running.
// Its threads load this too, and have no channel.
if (require('node:worker_threads').isMainThread) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}
