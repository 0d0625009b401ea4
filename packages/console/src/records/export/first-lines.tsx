import { useDebouncedValue } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import type { LinesPreview } from '../../api/types.ts';
import { visibleText } from '../../ui/format.ts';
import { SkeletonText } from '../../ui/list.tsx';
import { useRead } from '../../ui/poll.tsx';
import { bodyOf, type ExportChoice, whereOf } from './choice.ts';
import classes from './export.module.css';

/** Whoever writes a path of columns sees the lines when he rests. */
const restMillis = 400;
/** An enrichment may be long; how its line begins is enough to see. */
const mostCharacters = 240;

/** The first three rows of the file in its format. What cannot be read leaves the panel as it is: the size says why. */
export function FirstLines({ choice }: { choice: ExportChoice }): ReactNode {
  const [asked] = useDebouncedValue(requestOf(choice), restMillis);
  const query = useRead<LinesPreview>(
    ['records', 'lines', asked],
    (signal) => api.post('/exports/preview', JSON.parse(asked) as unknown, { signal }),
    { isOne: true, everyMillis: null },
  );
  if (query.data === undefined) {
    return query.isError ? null : <SkeletonText width="100%" />;
  }
  const { head, lines } = query.data;
  // Of few columns some lines are equal.
  const shown = [head, ...lines].filter(Boolean).map((line, place) => ({ place, line }));
  return (
    <section aria-label="First lines">
      <h3 className="caps below-8">
        {choice.format === 'parquet' ? 'THE FIRST ROWS, AS JSON' : 'HOW THE FILE BEGINS'}
      </h3>
      <ol className={`box small mono break ${classes.lines}`}>
        {shown.map(({ place, line }) => (
          <li key={place}>{lineText(line)}</li>
        ))}
      </ol>
      {lines.length === 0 && (
        <p className="muted small">None of the first and last records fits: there is no example.</p>
      )}
    </section>
  );
}

function lineText(line: string): string {
  const text = visibleText(line.replace(/^\ufeff/, '').replace(/\r?\n$/, ''));
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
}

/** The request, as JSON text, which stays the same while nothing is changed. */
function requestOf(choice: ExportChoice): string {
  const { compression: _, typed: __, ...body } = bodyOf(choice);
  const where = choice.version === undefined ? whereOf(choice) : undefined;
  return JSON.stringify({ ...body, where, format: choice.format });
}
