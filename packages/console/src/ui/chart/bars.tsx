import type { ReactNode } from 'react';
import { BarChart, type BarChartProps } from './bar-chart.tsx';
import { SeriesLegend } from './bar-picture.tsx';

/** A chart below the names of its series, if it has several. */
export function Bars(props: BarChartProps): ReactNode {
  return (
    <>
      <div className="end" style={{ minHeight: 20 }}>
        {props.series && <SeriesLegend series={props.series.toReversed()} />}
      </div>
      <BarChart {...props} />
    </>
  );
}
