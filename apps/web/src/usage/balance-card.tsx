import { announce } from '../announce.js';
import { numberText } from '../format.js';
import { Card } from '../parts/card.js';
import { Figures } from '../parts/figures.js';
import type { Overview } from '../server-types.js';

interface BalanceCardProps {
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** What the account can spend, what is set aside for generations under way, and what was charged. */
export function BalanceCard({ overview: { account }, reload }: BalanceCardProps) {
  const again = async (): Promise<void> => {
    await reload();
    announce('The credits are up to date.');
  };
  const figures = [
    { name: 'Available', value: numberText(account.available_credits), note: 'can be spent now' },
    { name: 'Reserved', value: numberText(account.reserved_credits), note: 'held for generations that have not ended' },
    { name: 'Spent', value: numberText(account.spent_credits), note: 'charged for what was delivered' },
  ];
  return (
    <Card id="balance" title="Balance" note={`${account.name}, in ${account.currency}.`}>
      {account.is_suspended ? (
        <p class="fault" role="alert">
          The account is suspended: nothing can be spent until the operator resumes it.
        </p>
      ) : null}
      <Figures figures={figures} />
      <button type="button" class="outline secondary small" onClick={() => void again()}>
        Read again
      </button>
    </Card>
  );
}
