import { type Params, pathWith } from './client.ts';
import { basePath } from './values.ts';

/** What is told of the records that are followed. */
type Followed = {
  /** A record, as the source text of its JSON. */
  readonly onRecord: (source: string) => void;
  /**
   * The service follows no further: `slow` if this page did not keep up. Whatever may pass, such as an outage, is not told:
   * it is tried again, and no record is lost meanwhile.
   */
  readonly onEnd: (why: 'slow' | 'refused') => void;
};

/**
 * Follows the records of a slice as they are stored, until the function that it returns is called. While the page is
 * hidden it rests, because a browser has only a few connections to one service; then it goes on where it was.
 */
export function followRecords(params: Params, { onRecord, onEnd }: Followed): () => void {
  let after: string | undefined;
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const end = (why: 'slow' | 'refused') => {
    stop();
    onEnd(why);
  };
  const open = () => {
    const url = basePath + pathWith('/enrichment/records/tail', { ...params, after });
    const stream = new EventSource(url);
    source = stream;
    const note = ({ lastEventId }: MessageEvent<string>) => {
      after = lastEventId === '' ? after : lastEventId;
    };
    stream.addEventListener('place', note);
    stream.addEventListener('message', (event: MessageEvent<string>) => {
      note(event);
      onRecord(event.data);
    });
    stream.addEventListener('end', (event: MessageEvent<string>) => {
      const { code } = JSON.parse(event.data) as { code: string };
      if (code === 'tail_slow') end('slow');
    });
    stream.addEventListener('error', () => {
      // After a lost connection the browser tries again by itself; after an answer other than 200 it does not.
      if (stream.readyState === EventSource.CLOSED) void tryAgain(stream, url);
    });
  };
  const tryAgain = async (stream: EventSource, url: string) => {
    const isRefused = await isRefusal(url);
    // It was stopped meanwhile, or the page is hidden.
    if (source !== stream) return;
    if (isRefused) end('refused');
    else timer = setTimeout(open, retryMillis);
  };
  const onVisibility = () => {
    if (document.hidden) close();
    else if (source === undefined) open();
  };
  const stop = () => {
    document.removeEventListener('visibilitychange', onVisibility);
    close();
  };
  document.addEventListener('visibilitychange', onVisibility);
  if (!document.hidden) open();
  return stop;
}

/** How long to wait after an answer that passes, such as that of a service that is starting, or of a proxy before it. */
const retryMillis = 3000;

/** Whether the answer of this stream is a refusal, which does not pass. */
async function isRefusal(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { headers: { accept: 'text/event-stream' } });
    await answer.body?.cancel();
    return answer.status >= 400 && answer.status < 500 && answer.status !== 429;
  } catch {
    return false;
  }
}
