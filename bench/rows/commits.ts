import type { Child } from '../child.js';
import { compare, type Measured } from '../compare.js';
import { ratioText, whole, type Row } from '../report.js';
import type { Run } from '../run.js';
import { median } from '../statistics.js';
import type { CommitCommands } from '../servers/commit-rates.js';

/** Writes of many clients that share commits, beside writes that each have a commit of their own. */
export async function measureCommits(run: Run): Promise<Row[]> {
  const { sizes } = run;
  const store: Child<CommitCommands> = run.start('./servers/commit-rates.js', [run.newFolder('commits')]);
  const writesPerCommit: number[] = [];
  const write = async (clients: number): Promise<Measured> => {
    const { writes, commits, elapsedMs, cpuMicros } = await store.ask('write', { clients, durationMs: sizes.sliceMs });
    if (clients > 1) writesPerCommit.push(writes / commits);
    return { cpuMicros: cpuMicros / writes, perSecond: writes / (elapsedMs / 1_000) };
  };
  const comparison = await compare(
    () => write(sizes.connections),
    () => write(1),
    sizes,
  );
  await store.stop();
  const { subject, control, rate } = comparison;
  const shared = median(writesPerCommit);
  return [
    {
      name: 'group commit',
      lines: [
        {
          what: `writes/s, ${sizes.connections} clients sharing commits, and one write a commit`,
          measured: whole(subject.perSecond),
          control: whole(control.perSecond),
          ratio: ratioText(rate),
        },
        { what: 'writes a commit', measured: shared.toFixed(1), control: '1' },
      ],
      figures: { ...comparison, writesPerCommit: shared },
    },
  ];
}
