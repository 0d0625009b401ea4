import type { Socket } from 'node:net';

/** Of `HTTP/1.1 100 Continue`, where the status begins, and its digits. */
const statusAt = 9;
const continueDigits = '100';
/** The last digit of 103, which undici passes over. */
const digit3 = 0x33;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Any receiver may send interim answers before the final one, asked for or not (RFC 9110, 15.2). undici
 * passes over all of them but `100 Continue`, at which it gives the connection up. So its status is turned
 * into 103 on the way from the socket to undici's parser: as much is changed as one byte, and nothing of an
 * answer that has begun with another status.
 */
export class InterimAnswers {
  /** Whether the answer so far consists of interim ones. */
  #isInterim = false;
  /** Bytes of the status line seen so far. */
  #seen = 0;
  #digits = '';
  /** Bytes of the present line of headers; null: within the status line's beginning. */
  #lineLength: number | null = null;

  /** Watches what is read from this socket from now on. */
  watch(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown => {
      const chunk: unknown = read(size);
      if (this.#isInterim && Buffer.isBuffer(chunk)) this.#pass(chunk);
      return chunk;
    };
  }

  /** A request goes out: what comes next is the beginning of its answer. */
  begin(): void {
    this.#isInterim = true;
    this.#beginLine();
  }

  #beginLine(): void {
    this.#seen = 0;
    this.#digits = '';
    this.#lineLength = null;
  }

  #pass(chunk: Buffer): void {
    for (let i = 0; i < chunk.length && this.#isInterim; i += 1) {
      const byte = chunk[i] ?? 0;
      if (this.#lineLength === null) {
        if (this.#passStatus(byte)) chunk[i] = digit3;
      } else if (byte === lineFeed) {
        if (this.#lineLength === 0) this.#beginLine();
        else this.#lineLength = 0;
      } else if (byte !== carriageReturn) {
        this.#lineLength += 1;
      }
    }
  }

  /** One byte of the status line up to its status; whether it is the last digit of 100. */
  #passStatus(byte: number): boolean {
    this.#seen += 1;
    if (this.#seen <= statusAt) return false;
    this.#digits += String.fromCharCode(byte);
    if (this.#digits[0] !== '1') this.#isInterim = false;
    if (this.#digits.length < continueDigits.length) return false;
    this.#lineLength = this.#seen;
    return this.#digits === continueDigits;
  }
}
