import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Environment } from '../config/settings.ts';

/**
 * Tells systemd that the service is ready, and where, if a unit with `Type=notify` has started it. systemd's own program
 * says it, because Node cannot send to the sockets that systemd listens on. Throws where there is no such program, as in
 * a container that was given the socket of its host.
 */
export async function tellSystemd(env: Environment, status: string): Promise<void> {
  if (!env.NOTIFY_SOCKET) return;
  await promisify(execFile)('systemd-notify', ['--ready', `--status=${status}`], { env });
}
