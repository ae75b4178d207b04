import { announce } from '../../announce.js';
import { textOf } from '../../form-text.js';
import { dateText, numberText, timeText } from '../../format.js';
import { Card, focusOn } from '../../parts/card.js';
import { Figures } from '../../parts/figures.js';
import { Fact } from '../../parts/fact.js';
import { change } from '../../server.js';
import { ActButton } from '../act-button.js';
import type { Account, Suspended } from '../server-types.js';
import { counted } from '../texts.js';

interface BooksCardProps {
  readonly account: Account;
  readonly path: string;
  readonly changed: () => Promise<void>;
  readonly refused: () => void;
}

/** What the account has, and whether it may spend it. */
export function BooksCard({ account, path, changed, refused }: BooksCardProps) {
  const figures = [
    { name: 'Available', value: numberText(account.available_credits), note: 'can be spent now' },
    {
      name: 'Reserved',
      value: numberText(account.reserved_credits),
      note: account.open_holds === 0 ? 'nothing is open' : `for ${counted(account.open_holds, 'open generation')}`,
    },
    { name: 'Spent', value: numberText(account.spent_credits), note: 'charged for what was delivered' },
    { name: 'Issued', value: numberText(account.issued_credits), note: 'granted in all, less corrections' },
  ];
  const done = async (sentence: string): Promise<void> => {
    await changed();
    announce(sentence);
    focusOn('books');
  };
  return (
    <Card id="books" title={account.name} note={`Created ${dateText(account.created_at)}, in ${account.currency}.`}>
      {account.suspended_at === undefined ? null : (
        <p class="fault">{`Suspended since ${timeText(account.suspended_at)}: its keys are refused, and nothing can be spent.`}</p>
      )}
      <Figures figures={figures} isNarrow />
      <dl class="facts">
        <Fact name="Account id" text={account.account_id} />
      </dl>
      <div class="actions below">
        <Rename account={account} path={path} done={done} refused={refused} />
        {account.suspended_at === undefined ? (
          <Suspend account={account} path={path} done={done} refused={refused} />
        ) : (
          <Resume account={account} path={path} done={done} refused={refused} />
        )}
      </div>
    </Card>
  );
}

interface ActProps extends Pick<BooksCardProps, 'account' | 'path' | 'refused'> {
  readonly done: (sentence: string) => Promise<void>;
}

function Rename({ account, path, done, refused }: ActProps) {
  return (
    <ActButton
      label="Rename"
      title={`Rename “${account.name}”`}
      consequence="People of the account see its name."
      doIt="Rename"
      act={(form) => change(`${path}/rename`, { name: textOf(form, 'name') })}
      done={() => done('The account is renamed.')}
      refused={refused}
    >
      <label>
        New name
        <input name="name" required maxLength={100} defaultValue={account.name} />
      </label>
    </ActButton>
  );
}

function Suspend({ account, path, done, refused }: ActProps) {
  return (
    <ActButton
      label="Suspend"
      title={`Suspend “${account.name}”?`}
      consequence="Nothing is accepted for it any more, and its keys are refused within seconds, until it is resumed."
      doIt="Suspend it"
      isDangerous
      act={(form) => change<Suspended>(`${path}/suspend`, { cancel_work: form.get('cancel') === 'yes' })}
      done={({ work }) => done(`The account is suspended.${workText(work)}`)}
      refused={refused}
    >
      <label>
        <input type="checkbox" name="cancel" value="yes" />
        {` Cancel what is open, too (${counted(account.open_holds, 'generation')})`}
      </label>
    </ActButton>
  );
}

function workText(work: Suspended['work']): string {
  if (work === undefined) return '';
  const { cancelled, stopping, unfinished } = work;
  const open = unfinished === 0 ? '' : ` ${counted(unfinished, 'hold')} without a generation will be released.`;
  return ` ${counted(cancelled, 'generation')} cancelled, ${numberText(stopping)} stopping.${open}`;
}

function Resume({ account, path, done, refused }: ActProps) {
  return (
    <ActButton
      label="Resume"
      title={`Resume “${account.name}”?`}
      consequence="Its keys work again within seconds, and it can spend."
      doIt="Resume it"
      act={() => change(`${path}/resume`)}
      done={() => done('The account is resumed.')}
      refused={refused}
    />
  );
}
