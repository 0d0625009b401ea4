import type { ReactNode } from 'react';
import type { EndpointStory } from '../../api/types.ts';
import { basePath } from '../../api/values.ts';
import { CliBlock } from '../../ui/copy-button.tsx';
import { Facts } from '../../ui/facts.tsx';
import { formatCount } from '../../ui/format.ts';
import { Moment } from '../../ui/marks.tsx';
import { shellLine } from '../../ui/words.ts';
import { endpointPath } from '../query-keys.ts';

type PolledProps = { id: string; polled: NonNullable<EndpointStory['polled']> };

/** Who fetched last what waits for an endpoint that is polled, what is not acknowledged, and how it is fetched. */
export function Polled({ id, polled }: PolledProps): ReactNode {
  const { polled_at: at, polled_by: by, handed_out: count, handed_out_since: since } = polled;
  return (
    <section aria-label="How it is polled">
      <Facts
        facts={{
          'last poll':
            at === null ? (
              'none yet'
            ) : (
              <span>
                <Moment at={at} />
                {by !== null && ` by ${by}`}
              </span>
            ),
          'handed out':
            count === 0 ? (
              'nothing that is not acknowledged'
            ) : (
              <span>
                {formatCount(count)}, not acknowledged
                {since !== null && (
                  <>
                    {' '}
                    since <Moment at={since} />
                  </>
                )}
              </span>
            ),
        }}
      />
      <CliBlock title="Its receiver polls" line={pollLine(id)} />
      <p className="muted above-12 below-16">
        With after=next_cursor of the answer before, the next call acknowledges what came in it. Its
        token needs the scope deliveries:poll alone, and is best limited to this tenant.
      </p>
    </section>
  );
}

/** A poll as a curl command. In double quotes the shell inserts the token, so that the copied line never contains it. */
function pollLine(id: string): string {
  const url = `${window.location.origin}${basePath}${endpointPath(id)}/deliveries/poll?wait=20`;
  return `curl -sS -H "Authorization: Bearer $SVC_TOKEN" ${shellLine([url])}`;
}
