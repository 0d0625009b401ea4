import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useCloseWithSecret } from './act.ts';
import { Copied } from './copy-button.tsx';
import { Panel, PanelBody } from './panel.tsx';

/** The panel that makes something by a form, and then shows what was made, this once. */
export function MakePanel<Made>(props: {
  /** What it makes, as in "NEW TOKEN". */
  what: string;
  nameOf: (made: Made) => string;
  form: (onMade: (made: Made) => void) => ReactNode;
  children: (made: Made) => ReactNode;
  onClose: () => void;
}): ReactNode {
  const { what, nameOf, form, children } = props;
  const [made, setMade] = useState<Made | null>(null);
  return (
    <Panel
      kind={`NEW ${what.toUpperCase()}`}
      title={made === null ? '' : nameOf(made)}
      id={`new-${what}`}
      closeLabel={`Close the new ${what}`}
      onClose={useCloseWithSecret(props.onClose)}
    >
      <PanelBody>{made === null ? form(setMade) : children(made)}</PanelBody>
    </Panel>
  );
}

/** A secret that is shown this once, with what is said of it, and the button that closes all of it. */
export function ShownOnce(props: {
  secret: string | null;
  /** What the secret is, as in "Copy the token". */
  noun: string;
  /** What the button says. */
  answer?: string;
  /** What stands below the secret. */
  below?: ReactNode;
  /** What stands before the button. */
  others?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const { secret, noun, answer = 'I have kept it' } = props;
  return (
    <>
      <p className="muted">{props.children}</p>
      {secret !== null && <Copied text={secret} label={`Copy the ${noun}`} isSecret />}
      {props.below}
      <div className="flex wrap end gap-8">
        {props.others}
        <Button variant="filled" onClick={props.onClose}>
          {answer}
        </Button>
      </div>
    </>
  );
}
