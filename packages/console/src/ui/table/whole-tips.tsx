import { useWindowEvent } from '@mantine/hooks';
import {
  type FocusEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from 'react';
import { CheckIcon, CopyIcon } from '../icons.tsx';
import { shortId } from '../words.ts';
import classes from './whole-tips.module.css';

type Tip = { text: string; left: number; top: number };

/** Shows each `ShortId` inside in full, and copies it on a click: 800 tooltips would cost more than the list. */
export function WholeTips({ children }: { children: ReactNode }): ReactNode {
  const [tip, setTip] = useState<Tip | null>(null);
  const [copied, setCopied] = useState<string | null>(null);
  useWindowEvent('keydown', ({ key }) => key === 'Escape' && setTip(null), true);
  const copiedTimer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(copiedTimer.current), []);
  const show = (event: FocusEvent | MouseEvent) => {
    const element = event.target as Element;
    if (element.closest('[role="tooltip"]') !== null) return;
    setTip(tipOf(element.closest<HTMLElement>('[data-whole]')));
  };
  const copy = async (event: MouseEvent) => {
    const whole = (event.target as Element).closest<HTMLElement>('[data-whole]');
    const text = whole?.dataset.whole;
    if (whole === null || text === undefined) return;
    setTip(tipOf(whole));
    await navigator.clipboard.writeText(text).then(
      () => setCopied(`Copied ${text}`),
      () => setCopied('The browser refused to copy'),
    );
    clearTimeout(copiedTimer.current);
    copiedTimer.current = setTimeout(() => setCopied(null), 1500);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside are what is used
    // biome-ignore lint/a11y/useKeyWithClickEvents: a key press on a button is a click here
    <div
      className="view relative"
      onMouseOver={show}
      onFocus={show}
      onMouseLeave={() => setTip(null)}
      onBlur={() => setTip(null)}
      onScrollCapture={() => setTip(null)}
      onClick={(event) => void copy(event)}
    >
      {children}
      {tip !== null && (
        <span
          role="tooltip"
          className={`float row gap-8 ink small mono break ${classes.tip}`}
          style={{ left: tip.left, top: tip.top }}
        >
          {copied === null ? <CopyIcon /> : <CheckIcon />}
          {copied ?? tip.text}
        </span>
      )}
      <span className="visually-hidden" role="status">
        {copied}
      </span>
    </div>
  );
}

function tipOf(element: HTMLElement | null): Tip | null {
  const text = element?.dataset.whole;
  if (element === null || text === undefined) return null;
  const { left, bottom } = element.getBoundingClientRect();
  return { text, left: Math.max(8, Math.min(left, window.innerWidth - 280)), top: bottom };
}

/** An id shortened to its two ends, inside `WholeTips`. Hover and focus show all of it, a click copies it. */
export function ShortId(props: { value: string; name: string; tabIndex?: number }): ReactNode {
  const { value, name, tabIndex = 0 } = props;
  return (
    <button
      type="button"
      className={`inline-row gap-4 ink small mono ${classes.short}`}
      data-whole={value}
      tabIndex={tabIndex}
    >
      <span>{shortId(value)}</span>
      <CopyIcon />
      <span className="visually-hidden">
        , copy the {name} {value}
      </span>
    </button>
  );
}
