import { Textarea } from '@mantine/core';
import type { ReactNode } from 'react';
import { type TemplateName, templateNames } from '../api/values.ts';

/** What a line of NDJSON is: a record, or what a template makes of it: one of ours, or one that somebody writes. */
export type Lines = 'records' | TemplateName | 'own';

export const lineKinds: readonly { value: Lines; label: string }[] = [
  { value: 'records', label: 'records, as they were sent' },
  ...templateNames.map((value) => ({ value, label: value })),
  { value: 'own', label: 'a template of my own' },
];

export function lineKindOf(value: string): Lines {
  return lineKinds.find((kind) => kind.value === value)?.value ?? 'records';
}

type ReadTemplate = { template?: TemplateName | object | undefined; fault: string | null };

/** What lines that are records are read as. */
export const noTemplate: ReadTemplate = { fault: null };

/** Reads what the lines are to be. Whether a template's references are right the service tells. */
export function readLines(lines: Lines, text: string): ReadTemplate {
  if (lines === 'records') return noTemplate;
  if (lines !== 'own') return { template: lines, fault: null };
  if (text.trim() === '') return { fault: 'write a JSON object, as {"text": "{{label}}"}' };
  try {
    const template: unknown = JSON.parse(text);
    const isObject = typeof template === 'object' && template !== null && !Array.isArray(template);
    return isObject ? { template, fault: null } : { fault: 'it is JSON, but no object: {…}' };
  } catch (error) {
    return { fault: `it is no JSON: ${error instanceof Error ? error.message : ''}` };
  }
}

/** Where somebody writes a template. */
export function TemplateField({
  isDisabled = false,
  ...props
}: {
  text: string;
  /** What is wrong with it. */
  fault: string | null | undefined;
  isDisabled?: boolean;
  onChange: (text: string) => void;
}): ReactNode {
  return (
    <Textarea
      label="Template"
      description="A JSON object. {{label}} stands for a field of the enrichment, {{event_id}} for a column, {{score|json}} for the value itself."
      placeholder='{"text": "{{label}}"}'
      classNames={{ input: 'mono' }}
      autosize
      minRows={3}
      maxRows={16}
      disabled={isDisabled}
      value={props.text}
      error={props.fault}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}
