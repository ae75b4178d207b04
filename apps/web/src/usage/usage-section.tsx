import { useApps } from '../apps/usable-apps.js';
import { Loaded } from '../parts/loaded.js';
import type { Overview } from '../server-types.js';
import { BalanceCard } from './balance-card.js';
import { EntriesCard } from './entries-card.js';
import { UsageCard } from './usage-card.js';

interface UsageSectionProps {
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** What there is to spend, what was used, and every movement of credits: all of the whole account. */
export function UsageSection({ overview, reload }: UsageSectionProps) {
  const apps = useApps();
  const { account } = overview;
  return (
    <>
      <BalanceCard overview={overview} reload={reload} />
      {account.is_suspended ? null : (
        <Loaded data={apps} what="the usage">
          {({ apps: [own] }) =>
            own === undefined ? null : (
              <>
                <UsageCard appId={own.id} currency={account.currency} />
                <EntriesCard appId={own.id} currency={account.currency} />
              </>
            )
          }
        </Loaded>
      )}
    </>
  );
}
