import { settingRows } from '../../config/setting-rows.ts';
import { loadSettings } from '../../config/settings.ts';
import { columnsOf } from '../columns.ts';
import { printRows } from '../output.ts';
import { command, jsonOption } from '../verb.ts';

type SettingValue = {
  name: string;
  value: string | number | readonly string[] | null;
  source: 'environment' | 'default';
  help: string;
};

const mask = '********';

/** Prints all settings of the service and where each value comes from. Secrets are masked. */
export const config = command({
  description: 'Prints the settings that svcctl serve would start with here. Secrets are masked.',
  examples: ['svcctl config', 'SVC_PORT=9000 svcctl config --json name,value'],
  options: [jsonOption],
  answers: ['name', 'value', 'source', 'help'],
  async act(context, { json }) {
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
    await printRows(context, values, { columns, json });
  },
});

const { word, text } = columnsOf<SettingValue>();

const columns = [
  word('SETTING', 'name'),
  word('VALUE', valueText, { shown: (row) => valueText(row) || '–' }),
  word('FROM', 'source'),
  text('MEANING', 'help'),
];

function valueText({ value }: SettingValue): string {
  return typeof value === 'object' ? (value ?? []).join(',') : String(value);
}
