import { Button, Modal } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import classes from './form.module.css';
import { LiveButton } from './live-button.tsx';

/** Asks before what cannot be undone, and gives the focus back. The answer that changes nothing has it meanwhile. */
export function ConfirmDialog(props: {
  title: string;
  /** What becomes of what, in paragraphs. */
  children: ReactNode;
  /** What the button says that changes nothing. */
  keep?: string;
  /** What the button says that does it. */
  answer: string;
  onYes: () => void;
  /** An answer that goes on without doing it. */
  safe?: { answer: string; onYes: () => void };
  onClose: () => void;
}): ReactNode {
  const { keep = 'Keep it', answer, onYes, safe, onClose } = props;
  useFocusBack();
  const choose = (act: () => void) => () => {
    onClose();
    act();
  };
  return (
    <Modal opened onClose={onClose} centered title={props.title}>
      <div className={`break ${classes.question}`}>{props.children}</div>
      <div className="flex wrap end gap-8">
        <Button onClick={onClose} data-autofocus>
          {keep}
        </Button>
        <LiveButton variant="filled" color="red.9" onClick={choose(onYes)}>
          {answer}
        </LiveButton>
        {safe !== undefined && (
          <Button variant="filled" onClick={choose(safe.onYes)}>
            {safe.answer}
          </Button>
        )}
      </div>
    </Modal>
  );
}

/** A button for what cannot be undone: it asks first. It is red, unless what it does is harmless. */
export function AskButton(props: {
  text: string;
  isSmall?: boolean;
  isPlain?: boolean;
  isBusy: boolean;
  title: string;
  answer: string;
  onYes: () => void;
  /** What becomes of what. */
  children: string;
}): ReactNode {
  const { text, isSmall = false, isPlain = false, isBusy, children, ...question } = props;
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <LiveButton
        {...(!isPlain && { className: 'danger' })}
        {...(isSmall && { size: 'compact-xs' })}
        loading={isBusy}
        onClick={() => setAsking(true)}
      >
        {text}
      </LiveButton>
      {isAsking && (
        <ConfirmDialog {...question} onClose={() => setAsking(false)}>
          <p>{children}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** Mantine returns the focus when a dialog closes, but not when it is removed. What had it may be gone: then the page. */
function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      const back = before?.isConnected ? before : document.getElementById('page');
      if (back instanceof HTMLElement) back.focus();
    },
    [before],
  );
}
