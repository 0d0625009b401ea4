import type { Command } from 'commander';
import { loadSettings, settingRows } from '../../config/settings.ts';
import type { Context } from '../context.ts';
import { withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../output.ts';
import type { Column } from '../table.ts';

type SettingValue = {
  name: string;
  value: string | number | readonly string[] | null;
  source: 'environment' | 'default';
  help: string;
};

const mask = '********';

export function fillConfig(command: Command, context: Context): void {
  command
    .description('Prints the settings that svcctl serve would start with here. Secrets are masked.')
    .option(jsonFlags, jsonHelp)
    .action((options: { json?: JsonOption }) => printSettings(context, options));
  withExamples(command, ['svcctl config', 'SVC_PORT=9000 svcctl config --json name,value']);
}

/** Prints all settings of the service and where each value comes from. Secrets are masked. */
async function printSettings(context: Context, { json }: { json?: JsonOption }): Promise<void> {
  const { waits: _waits, ...own } = loadSettings(context.io.env);
  const settings: Record<string, SettingValue['value'] | undefined> = own;
  const values = Object.entries(settingRows).map(([name, row]): SettingValue => {
    const value = settings[name] ?? null;
    const isSecret = 'secret' in row && row.secret === true;
    return {
      name: row.env,
      value: isSecret && value !== null ? mask : value,
      source: context.io.env[row.env] ? 'environment' : 'default',
      help: row.help,
    };
  });
  const printer = createRowPrinter<SettingValue>(context, {
    columns,
    fields: ['name', 'value', 'source', 'help'],
    json,
  });
  await printer.write(values.map((value) => JSON.stringify(value)));
  await printer.end();
}

const columns: readonly Column<SettingValue>[] = [
  { title: 'SETTING', value: (row) => row.name },
  {
    title: 'VALUE',
    value: valueText,
    shown: (row) => valueText(row) || '–',
  },
  { title: 'FROM', value: (row) => row.source },
  { title: 'MEANING', isElastic: true, value: (row) => row.help },
];

function valueText({ value }: SettingValue): string {
  return typeof value === 'object' ? (value ?? []).join(',') : String(value);
}
