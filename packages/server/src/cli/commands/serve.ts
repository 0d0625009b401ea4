import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Environment, loadSettings, type Settings } from '../../config/settings.ts';
import { AppError } from '../../kernel/errors.ts';
import { startText } from '../start-text.ts';
import { untilAborted } from '../until-aborted.ts';
import { command, signInOption } from '../verb.ts';

export const serve = command({
  description:
    'Runs the service until Ctrl-C or SIGTERM, which let running requests finish. Settings come from the environment: svcctl config prints them all.',
  examples: [
    'svcctl serve',
    'SVC_PORT=9000 SVC_DATA_DIR=/var/lib/svcctl svcctl serve',
    'DATABASE_URL=postgresql://svcctl@db/svcctl SVC_ROLES=api svcctl serve',
  ],
  options: [signInOption],
  async act(context, options) {
    const { io } = context;
    const settings = loadSettings(io.env);
    const app = await import('../../app.ts');
    const log = app.createLog(settings.logLevel);
    const service = await app.startService(settings, log, io.signal).catch((error: unknown) => {
      if (!io.signal.aborted) throw explainStart(error, settings);
      // A start that is told to stop has stopped, which is no failure; what else went wrong is.
      if (error !== io.signal.reason && (error as Error).name !== 'AbortError') {
        log.error({ err: error }, 'the start that was stopped had failed');
        throw error;
      }
      return null;
    });
    if (service === null) return;
    try {
      // The link lets anyone in once, so it is for a person to read, not for a log that is collected.
      const isWanted = options.printSignIn || io.stdout.isTTY;
      const signInLink = isWanted
        ? await service.createSignInLink().catch((error: unknown) => {
            log.warn({ err: error }, 'no sign-in link could be made: sign in with an access token');
            return null;
          })
        : null;
      const adminTokenPath = await access(service.adminTokenPath).then(
        () => service.adminTokenPath,
        () => null,
      );
      const started = { ...settings, ...service, signInLink, adminTokenPath };
      await context.out.write(startText(io, started));
      await tellSystemd(io.env, `ready at ${service.url}`).catch((error: unknown) =>
        log.warn({ err: error }, 'systemd could not be told that the service is ready'),
      );
      await untilAborted(io.signal);
    } finally {
      const hurry = new AbortController();
      io.onNextSignal(() => hurry.abort());
      await service.leave(hurry.signal);
      io.onNextSignal(null);
      await service.close();
    }
  },
});

/** Explains what the system has refused in terms of the setting that asked for it. */
function explainStart(error: unknown, settings: Settings): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const setting =
    error.syscall === 'listen'
      ? `SVC_HOST, SVC_PORT: ${settings.host}:${settings.port} cannot be listened on`
      : `SVC_DATA_DIR: ${settings.dataDir} cannot be used`;
  return new AppError('settings_invalid', {
    detail: `${setting}: ${error.message}.`,
    cause: error,
  });
}

/**
 * Tells systemd that the service is ready, and where, if a unit with `Type=notify` has started it. systemd's own program
 * says it, because Node cannot send to the sockets that systemd listens on. Throws where there is no such program, as in
 * a container that was given the socket of its host.
 */
async function tellSystemd(env: Environment, status: string): Promise<void> {
  if (!env.NOTIFY_SOCKET) return;
  await promisify(execFile)('systemd-notify', ['--ready', `--status=${status}`], { env });
}
