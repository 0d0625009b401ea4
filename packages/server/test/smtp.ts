import { createServer } from 'node:net';
import { listen } from './listen.ts';

/** A message as a server of SMTP took it. */
type ReceivedMail = {
  readonly from: string;
  readonly to: readonly string[];
  /** Names in lower case. Long ones are put together again. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded, as people read it. */
  readonly text: string;
  /** The user and password of AUTH PLAIN; null without. */
  readonly auth: string | null;
};

export type SmtpReceiver = {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  /** Answers to a command, such as `RCPT: '550 no such user'`, in place of the usual ones; '' = never. */
  refuse(answers: Readonly<Record<string, string>>): void;
  waitFor(count: number): Promise<readonly ReceivedMail[]>;
  close(): Promise<void>;
};

/** A real receiver of e-mail on 127.0.0.1: as much of RFC 5321 as one sender needs. */
export async function startSmtpReceiver(): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = [];
  const waiting = new Set<() => void>();
  let refused: Readonly<Record<string, string>> = {};
  const usual: Readonly<Record<string, string>> = {
    EHLO: '250-mail.example\r\n250 AUTH PLAIN',
    HELO: '250 mail.example',
    AUTH: '235 ok',
    MAIL: '250 ok',
    RCPT: '250 ok',
    DATA: '354 go on',
    QUIT: '221 bye',
    RSET: '250 ok',
  };
  const server = createServer((socket) => {
    let buffer = '';
    let mail = { from: '', to: [] as string[], auth: null as string | null };
    let isData = false;
    socket.write('220 mail.example ESMTP\r\n');
    socket.setEncoding('latin1').on('data', (chunk) => {
      buffer += chunk;
      for (;;) {
        const end = buffer.indexOf(isData ? '\r\n.\r\n' : '\r\n');
        if (end < 0) return;
        const part = buffer.slice(0, end);
        buffer = buffer.slice(end + (isData ? 5 : 2));
        if (isData) {
          isData = false;
          mails.push({ ...mail, ...parse(part.replace(/^\.\./gm, '.')) });
          mail = { from: '', to: [], auth: mail.auth };
          socket.write('250 taken\r\n');
          for (const check of [...waiting]) check();
          continue;
        }
        const verb = part.slice(0, 4).toUpperCase();
        const answer = refused[verb] ?? usual[verb] ?? '500 what?';
        const address = /<(.*)>/.exec(part)?.[1] ?? '';
        if (answer.startsWith('2') || answer.startsWith('3')) {
          if (verb === 'MAIL') mail.from = address;
          if (verb === 'RCPT') mail.to.push(address);
          if (verb === 'AUTH') mail.auth = Buffer.from(part.slice(11), 'base64').toString();
          isData = verb === 'DATA';
        }
        if (answer !== '') socket.write(`${answer}\r\n`);
        if (verb === 'QUIT') socket.end();
      }
    });
  });
  const { port, close } = await listen(server);
  return {
    port,
    mails,
    refuse(answers) {
      refused = answers;
    },
    waitFor: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (mails.length < count) return;
          waiting.delete(check);
          resolve(mails);
        };
        waiting.add(check);
        check();
      }),
    close,
  };
}

function parse(mail: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const [head = '', ...rest] = mail.split('\r\n\r\n');
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 2),
    ]),
  );
  const body = rest.join('\r\n\r\n');
  const coding = headers['content-transfer-encoding'];
  const bytes =
    coding === 'base64'
      ? Buffer.from(body, 'base64')
      : coding === 'quoted-printable'
        ? Buffer.from(
            body
              .replace(/=\r\n/g, '')
              .replace(/=([0-9A-F]{2})/g, (_, hex) =>
                String.fromCharCode(Number.parseInt(hex, 16)),
              ),
            'latin1',
          )
        : Buffer.from(body, 'latin1');
  return { headers, text: bytes.toString().replaceAll('\r\n', '\n') };
}
