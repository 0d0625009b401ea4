import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

/** What operators load into Prometheus and Grafana, and what they read when an alert fires. */
export const operationsFolder = new URL('../../../../../docs/operations/', import.meta.url);

export const readText = (name: string) => readFile(new URL(name, operationsFolder), 'utf8');

/** A rule of `alerts.yaml`. */
type Rule = {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook_url: string };
};

/** A panel of `dashboard.json`. */
export type Panel = {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; refId: string }[];
};

export async function readRules(): Promise<Rule[]> {
  const { groups } = parse(await readText('alerts.yaml')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

export async function readPanels(): Promise<Panel[]> {
  return JSON.parse(await readText('dashboard.json')).panels;
}
