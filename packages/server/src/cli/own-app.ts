import { loadSettings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import type { Context } from './context.ts';

export type App = typeof import('../app.ts');

/**
 * What the service itself is made of, with the settings of this machine, for commands that do without one that runs.
 * Unless a log level is set, only warnings and errors are logged: they print their results themselves.
 */
export async function openApp({ io }: Context) {
  const settings = loadSettings(io.env);
  const app = await import('../app.ts');
  return { settings, app, log: app.createLog(io.env.SVC_LOG_LEVEL ? settings.logLevel : 'warn') };
}

/**
 * As `openApp`, for what has no use without data, such as a backup: in a wrong folder it would make a database there, and
 * take that for the service's. Throws `database_unusable` where there is none.
 */
export async function openMadeApp(context: Context) {
  const opened = await openApp(context);
  if (opened.app.hasDatabase(opened.settings)) return opened;
  throw new AppError('database_unusable', {
    detail: `There is no database in ${opened.settings.dataDir}, and none was made. Set SVC_DATA_DIR to the data folder of the service, or its DATABASE_URL; under systemd svcctl-here takes them from the unit.`,
  });
}
