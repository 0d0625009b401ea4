// What one would write without a service: signed POSTs with undici over keep-alive, so many at a time,
// nothing stored. Arguments: URL, count, side by side, seconds that each may take (0 = for ever).
import { createHmac, randomBytes } from 'node:crypto';
import { Pool } from 'undici';
import { payloadOf } from './payload.mjs';

const [url, count, concurrency, seconds] = process.argv.slice(2);
const { origin, pathname } = new URL(url);
const pool = new Pool(origin, { connections: Number(concurrency) });
const secret = randomBytes(32);
let sent = 0;

await Promise.all(Array.from({ length: Number(concurrency) }, send));
await pool.close();

async function send() {
  while (sent < Number(count)) {
    sent += 1;
    const id = `msg_bare${String(sent).padStart(12, '0')}`;
    const body = JSON.stringify(payloadOf(sent));
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`);
    const response = await pool.request({
      method: 'POST',
      path: pathname,
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': `v1,${signature.digest('base64')}`,
      },
      body,
      ...(Number(seconds) > 0 ? { signal: AbortSignal.timeout(Number(seconds) * 1000) } : {}),
    });
    await response.body.dump();
    if (response.statusCode !== 204)
      throw new Error(`the receiver answered ${response.statusCode}`);
  }
}
