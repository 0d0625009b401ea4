import { formatCount } from '../../kernel/values.ts';
import { createClient } from '../client.ts';
import type { Context } from '../context.ts';
import { openMadeApp } from '../own-app.ts';
import { interrupted } from '../retry.ts';
import { command } from '../verb.ts';

/** How long to wait for a service to say what is left. It may be frozen, which may be the very reason to drain. */
const leftMillis = 3000;

export const drain = command({
  description:
    'Runs the drainer here, with the settings of svcctl serve, until nothing is due that is not paused. What is due later does not hold it. It uses the database itself, also that of a service that runs.',
  examples: [
    'svcctl drain',
    'DATABASE_URL=postgresql://svcctl@db/svcctl SVC_SECRET_KEY=… svcctl drain',
  ],
  options: [['--json', 'print the counts as JSON']],
  async act(context, { json }) {
    const { io } = context;
    const { settings, app, log } = await openMadeApp(context);
    const { delivered, failed } = await app.drainOnce(settings, log, io.signal);
    context.note(`${formatCount(delivered)} delivered, ${formatCount(failed)} failed`);
    if (io.signal.aborted) throw interrupted();
    if (json) await context.out.write(`${JSON.stringify({ delivered, failed })}\n`);
    const left = await countLeft(context);
    if (left !== null) context.note(left);
  },
});

/**
 * Says how many deliveries are left, if the service of this folder tells. Another service might use another database.
 */
async function countLeft(context: Context): Promise<string | null> {
  try {
    const { connection } = await context.connect();
    if (connection.source !== 'local service') return null;
    const { io } = context;
    const timeouts = { ...io.timeouts, connectMillis: leftMillis, answerMillis: leftMillis };
    const client = createClient({ ...io, timeouts }, connection);
    const count = async (status: 'pending' | 'abandoned') => {
      const { total } = await client.json('GET /webhook/dlq', { query: { status, limit: 1 } });
      return `${formatCount(total ?? 0)} ${status}`;
    };
    return `left: ${await count('pending')}, ${await count('abandoned')}`;
  } catch {
    // Without a service to ask, this line is missing; how many were delivered is said in any case.
    return null;
  }
}
