import { type ReactNode, useMemo } from 'react';
import classes from './drawer.module.css';
import { visibleJson } from './format.ts';
import { type JsonPiece, printJson, printPieces } from './json-source.ts';

/** Longer text is shown without colours: each coloured piece costs an element. */
const colouredChars = 40_000;

/** JSON, indented and, unless it is long, in colours. Only its white space differs from the source. */
export function JsonText({ source }: { source: string }): ReactNode {
  const pieces = useMemo((): JsonPiece[] => {
    if (source.length <= colouredChars) return printPieces(visibleJson(source));
    return [{ kind: 'mark', text: printJson(visibleJson(source)) }];
  }, [source]);
  return (
    <pre className={`box small break ${classes.json}`}>
      {pieces.map((piece, index) =>
        piece.kind === 'mark' ? (
          piece.text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: what is shown never changes
          <span key={index} data-kind={piece.kind}>
            {piece.text}
          </span>
        ),
      )}
    </pre>
  );
}
