import { place, titleOf } from '../places.js';
import { announce } from '../parts/toasts.js';
import type { Entry, Statement } from '../api-types.js';
import { inApp, useApps } from '../apps/usable-apps.js';
import { numberText, timeText } from '../format.js';
import { MoreButton, Button } from '../parts/buttons.js';
import { Card, Figures, Loaded, PlaceLink, type PageProps, Page } from '../parts/parts.js';
import { reloadOverview } from '../session.js';
import { usePages } from '../use-data.js';
import { UsageCard } from './usage-card.js';

/** The balance, the use and the credit entries of the whole account. */
function UsageSection({ overview }: PageProps) {
  const apps = useApps();
  const { account } = overview;
  return (
    <>
      <BalanceCard overview={overview} />
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

/** The available, reserved and charged credits of the account. */
function BalanceCard({ overview: { account } }: PageProps) {
  const again = async (): Promise<void> => {
    await reloadOverview();
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
        <p class="attention bad" role="alert">
          The account is suspended: nothing can be spent until the operator resumes it.
        </p>
      ) : null}
      <Figures figures={figures} />
      <Button isSmall onClick={() => void again()}>
        Read again
      </Button>
    </Card>
  );
}

const PAGE = 25;

const KIND_TEXTS: Readonly<Record<Entry['kind'], string>> = {
  grant: 'Granted',
  adjustment: 'Adjusted',
  hold: 'Reserved',
  charge: 'Charged',
  release: 'Released',
};

/** Every movement of credits, newest first, with the generation that it belongs to. */
function EntriesCard({ appId, currency }: { readonly appId: string; readonly currency: string }) {
  const path = inApp(appId, `/credits/entries?limit=${PAGE}`);
  const statement = usePages<'entries', Entry, Statement>(path, 'entries');
  const { items, last } = statement;
  return (
    <Card id="entries" title="Ledger" note={`Every movement of credits of the account, newest first, in ${currency}.`}>
      <Loaded data={statement} what="the ledger">
        {(first) =>
          items.length === 0 ? (
            <p class="empty">Nothing has moved yet.</p>
          ) : (
            <>
              <EntryTable entries={items} closing={first.closing_credits} opening={(last ?? first).opening_credits} />
              <MoreButton pages={statement} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

interface EntryTableProps {
  readonly entries: readonly Entry[];
  readonly closing: number | undefined;
  readonly opening: number | undefined;
}

function EntryTable({ entries, closing, opening }: EntryTableProps) {
  return (
    // What scrolls must be reachable without a pointer.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section class="scrolled whole" tabIndex={0} aria-label="Entries of the ledger">
      <table>
        <thead>
          <tr>
            {['When', 'What', 'For', 'By'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            {['Credits', 'Change', 'Available'].map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <BalanceLine title="Closing balance of these lines" credits={closing} />
          {entries.map((entry) => (
            <EntryRow key={entry.sequence} entry={entry} />
          ))}
          <BalanceLine title="Opening balance of these lines" credits={opening} />
        </tbody>
      </table>
    </section>
  );
}

function BalanceLine({ title, credits }: { readonly title: string; readonly credits: number | undefined }) {
  return (
    <tr class="balance">
      <th scope="row" colSpan={6}>
        {title}
      </th>
      <td class="number">{balanceText(credits)}</td>
    </tr>
  );
}

function EntryRow({ entry }: { readonly entry: Entry }) {
  const { generation_id: id, model_key: model, reason } = entry;
  return (
    <tr>
      <td>{timeText(entry.created_at)}</td>
      <td>{KIND_TEXTS[entry.kind]}</td>
      <td>
        {id === undefined ? (
          (reason ?? '')
        ) : (
          <PlaceLink
            page="generations"
            id={id}
            label={`The generation of ${model ?? 'a model'}, ${timeText(entry.created_at)}`}
          >
            {model ?? 'a generation'}
          </PlaceLink>
        )}
        {id !== undefined && reason !== undefined ? <span class="small muted">{` ${reason}`}</span> : null}
      </td>
      <td>{entry.credential_name ?? entry.credential_id ?? ''}</td>
      <td class="number">{numberText(entry.credits)}</td>
      <td class="number">{changes.format(entry.available_change)}</td>
      <td class="number">{balanceText(entry.available_after)}</td>
    </tr>
  );
}

/** People see all entries and so each balance, which connected programs do not. */
function balanceText(credits: number | undefined): string {
  return credits === undefined ? '' : numberText(credits);
}

const changes = new Intl.NumberFormat(undefined, { signDisplay: 'exceptZero' });

export function UsagePage({ overview }: PageProps) {
  return (
    <Page title={titleOf(place.value)}>
      <div class="stack">
        <UsageSection overview={overview} />
      </div>
    </Page>
  );
}
