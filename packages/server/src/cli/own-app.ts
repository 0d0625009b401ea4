import { loadSettings } from '../config/settings.ts';
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
