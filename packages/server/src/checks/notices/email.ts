import type { Transporter } from 'nodemailer';
import { type Message, toEmailText } from './message.ts';
import type { Channel, SendResult } from './send.ts';

type EmailOptions = {
  /** smtp:// or smtps://, with user and password if the server wants them; undefined: none is set. */
  readonly smtpUrl: string | undefined;
  readonly from: string | undefined;
  /** The time limit for a whole attempt. */
  readonly timeoutMillis: number;
  /** Where browsers reach the console; null: unknown. */
  readonly origin: string | null;
  /** Ends the attempts that are under way, because the service stops. */
  readonly signal: AbortSignal;
};

/** Sends notices by e-mail: plain text, one message for all that was found at the same moment. */
export function createEmailChannel(options: EmailOptions): Channel {
  return async ({ address }, message) => {
    const startedAt = performance.now();
    const end = (result: Omit<SendResult, 'durationMillis' | 'isCut'>): SendResult => ({
      ...result,
      durationMillis: Math.round(performance.now() - startedAt),
      isCut: options.signal.aborted && result.error !== null,
    });
    try {
      await sendInTime(options, address, message);
      return end({ error: null, status: 250 });
    } catch (error) {
      return end({ error: sentenceOf(error), status: statusOf(error) });
    }
  };
}

async function sendInTime(options: EmailOptions, to: string, message: Message): Promise<void> {
  const { smtpUrl, from, timeoutMillis, origin } = options;
  if (smtpUrl === undefined || from === undefined) {
    throw new Error('SVC_SMTP_URL and SVC_SMTP_FROM are not set, so no e-mail can be sent');
  }
  const late = AbortSignal.timeout(timeoutMillis);
  const signal = AbortSignal.any([late, options.signal]);
  const transport = await openTransport(new URL(smtpUrl), timeoutMillis);
  const ended = new Promise<never>((_, reject) => {
    const refuse = () =>
      reject(
        new Error(
          late.aborted ? `No answer within ${timeoutMillis / 1000} s` : 'The service stops',
        ),
      );
    if (signal.aborted) refuse();
    else signal.addEventListener('abort', refuse, { once: true });
  });
  const mail = {
    from,
    to,
    ...toEmailText(message, origin),
    // The same on every attempt, by which mailboxes tell a repetition.
    messageId: `<${message.id}@${from.split('@').at(-1)?.replace(/>.*/, '') ?? 'svcctl'}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
  try {
    await Promise.race([transport.sendMail(mail), ended]);
  } finally {
    transport.close();
  }
}

/** Loads the library only now: most installations send no e-mail. */
async function openTransport(url: URL, timeoutMillis: number): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  const user = decodeURIComponent(url.username);
  const isSecure = url.protocol === 'smtps:';
  return createTransport({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (isSecure ? 465 : 587)),
    secure: isSecure,
    // A password is never sent in the clear, except to this machine.
    requireTLS: user !== '' && !isSecure && !/^(localhost|127\.|\[::1\])/.test(url.hostname),
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
    connectionTimeout: timeoutMillis,
    greetingTimeout: timeoutMillis,
    socketTimeout: timeoutMillis,
  });
}

/** One line for an operator, without the password that a library might repeat. */
function sentenceOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, ' ').trim().slice(0, 300);
}

function statusOf(error: unknown): number | null {
  const code = error instanceof Error && 'responseCode' in error ? error.responseCode : null;
  return typeof code === 'number' ? code : null;
}
