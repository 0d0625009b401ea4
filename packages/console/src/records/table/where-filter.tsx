import { Combobox, TextInput, useCombobox } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { InputFault } from '../../api/types.ts';
import listClasses from '../../ui/list-page.module.css';
import { useFields } from '../facts/use-fields.ts';
import type { SliceParams } from '../search.ts';
import { proposalsAt } from './propose.ts';
import classes from './table.module.css';

/**
 * The field of a `where`: it tells it when the person presses Enter or leaves it, because half of a sentence is wrong. A fault
 * is told below it, and its place is marked in the text. While it is written, what may come next is proposed.
 */
export function WhereFilter(props: {
  value: string | undefined;
  /** Of these records the fields are proposed. */
  slice: SliceParams | null;
  /** The digest of the node; undefined when it has no records, or while that is not known. */
  digest: string | undefined;
  fault: InputFault | undefined;
  /** In a form what the field is, and what it is for. */
  label?: string;
  description?: string;
  onChange: (text: string | undefined) => void;
}): ReactNode {
  const { value = '', slice, digest, fault, label, description } = props;
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState(0);
  const list = useCombobox({ onDropdownClose: () => list.resetSelectedOption() });
  const [isUsed, setUsed] = useState(false);
  const asked = { slice, dataset: undefined, against: undefined };
  const fields = useFields(asked, digest, isUsed).data?.fields ?? [];
  const { from, to, options } = proposalsAt(text, caret, fields);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    const field = input.current;
    if (fault?.at === undefined || field === null || field !== document.activeElement) return;
    const characters = [...field.value];
    const start = characters.slice(0, fault.at - 1).join('').length;
    field.setSelectionRange(start, start + (characters[fault.at - 1]?.length ?? 0));
  }, [fault]);
  const write = (next: string, at: number) => {
    setText(next);
    setCaret(at);
    list.resetSelectedOption();
    list.openDropdown();
  };
  const send = () => {
    list.closeDropdown();
    if (text.trim() !== value) props.onChange(text.trim() === '' ? undefined : text.trim());
  };
  const take = (proposal: string) => {
    const rest = text.slice(to);
    const own = proposal.endsWith(' ') && rest.startsWith(' ') ? proposal.slice(0, -1) : proposal;
    const at = from + proposal.length;
    write(text.slice(0, from) + own + rest, at);
    requestAnimationFrame(() => input.current?.setSelectionRange(at, at));
  };
  return (
    <Combobox store={list} position="bottom-start" width={320} onOptionSubmit={take}>
      <Combobox.Target withExpandedAttribute>
        <TextInput
          ref={input}
          {...(label === undefined
            ? {
                className: `relative ${classes.where}`,
                classNames: { error: `ink ${listClasses.dayFault}` },
                'aria-label': 'What must hold of a record',
              }
            : { label, description, classNames: { input: 'mono' } })}
          aria-autocomplete="list"
          placeholder={'where: score >= 0.9 and model = "v3"'}
          error={text.trim() === value ? fault?.message : undefined}
          data-set={value !== ''}
          spellCheck={false}
          maxLength={2000}
          value={text}
          onFocus={() => setUsed(true)}
          onClick={() => list.openDropdown()}
          onSelect={({ currentTarget: { selectionStart } }) => setCaret(selectionStart ?? 0)}
          onChange={({ currentTarget: { value: own, selectionStart } }) =>
            write(own, selectionStart ?? own.length)
          }
          onBlur={send}
          onKeyDown={(event) => {
            const { key } = event;
            const isChosen = list.dropdownOpened && list.getSelectedOptionIndex() !== -1;
            // Neither sends a form around the field, nor closes a panel with the proposals.
            if (key === 'Enter' || (key === 'Escape' && list.dropdownOpened))
              event.preventDefault();
            if (key === 'Enter' && !isChosen) send();
            if (key === 'Escape' && !list.dropdownOpened) setText(value);
          }}
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={options.length === 0}>
        <Combobox.Options aria-label="Proposals">
          {options.map(({ text: own, note }) => (
            <Combobox.Option key={own} value={own}>
              <span className="row between gap-8">
                <span className="small mono cut">{own}</span>
                <span className="small muted nowrap">{note}</span>
              </span>
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
