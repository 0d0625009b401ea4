import { type ReactNode, useMemo } from 'react';
import drawerClasses from '../../records/drawer/drawer.module.css';
import { type JsonPiece, printJson, printPieces } from '../../records/drawer/print-json.ts';
import { visibleJson } from '../../ui/format.ts';

/** Above this, colours would cost more elements than they are worth. */
const colouredChars = 40_000;

/** The body of a delivery, readable; only its white space differs from what is sent. */
export function Payload({ body }: { body: string }): ReactNode {
  const pieces = useMemo((): JsonPiece[] => {
    if (body.length <= colouredChars) return printPieces(visibleJson(body));
    return [{ kind: 'mark', text: printJson(visibleJson(body)) }];
  }, [body]);
  return (
    <pre className={drawerClasses.json}>
      {pieces.map((piece, index) =>
        piece.kind === 'mark' ? (
          piece.text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a body never changes
          <span key={index} data-kind={piece.kind}>
            {piece.text}
          </span>
        ),
      )}
    </pre>
  );
}
