import type { Overview } from '../server-types.js';
import { BalanceCard } from './balance-card.js';

interface UsageSectionProps {
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** What there is to spend, and what was spent. */
export function UsageSection({ overview, reload }: UsageSectionProps) {
  return <BalanceCard overview={overview} reload={reload} />;
}
