import { type Params, pathWith } from './client.ts';
import { basePath } from './values.ts';

/** What is told of the records that are followed. */
type Followed = {
  /** A record, as the source text of its JSON. */
  readonly onRecord: (source: string) => void;
  /**
   * The service follows no further: `slow` if this page did not keep up. Whatever may pass, such as an outage, is not told:
   * the browser tries again by itself, and no record is lost meanwhile.
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
  const close = () => {
    source?.close();
    source = undefined;
  };
  const end = (why: 'slow' | 'refused') => {
    stop();
    onEnd(why);
  };
  const open = () => {
    const stream = new EventSource(
      basePath + pathWith('/enrichment/records/tail', { ...params, after }),
    );
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
      if (stream.readyState === EventSource.CLOSED) end('refused');
    });
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
