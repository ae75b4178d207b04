import { useCallback, useEffect, useState } from 'preact/hooks';
import { announce } from '../announce.js';
import type { Entry, Statement } from '../api-types.js';
import { inApp, useApps } from '../apps/usable-apps.js';
import { numberText, timeText } from '../format.js';
import { Card, Figures, Loaded, SectionLink } from '../parts/parts.js';
import type { Overview } from '../server-types.js';
import { read, sentenceOf } from '../server.js';
import { UsageCard } from './usage-card.js';

interface UsageSectionProps {
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** The balance, the use and the credit entries of the whole account. */
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

interface BalanceCardProps {
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** The available, reserved and charged credits of the account. */
function BalanceCard({ overview: { account }, reload }: BalanceCardProps) {
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

const PAGE = 25;

const KIND_TEXTS: Readonly<Record<Entry['kind'], string>> = {
  grant: 'Granted',
  adjustment: 'Adjusted',
  hold: 'Reserved',
  charge: 'Charged',
  release: 'Released',
};

interface EntriesCardProps {
  readonly appId: string;
  readonly currency: string;
}

/** Every movement of credits, newest first, with the generation that it belongs to. */
function EntriesCard({ appId, currency }: EntriesCardProps) {
  const [statement, setStatement] = useState<Statement>();
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const load = useCallback(
    async (before: Statement | undefined): Promise<void> => {
      setBusy(true);
      try {
        const cursor: Record<string, string> = before?.next_cursor === undefined ? {} : { cursor: before.next_cursor };
        const query = new URLSearchParams({ limit: String(PAGE), ...cursor }).toString();
        const page = await read<Statement>(inApp(appId, `/credits/entries?${query}`));
        setStatement(
          before === undefined
            ? page
            : { ...page, entries: [...before.entries, ...page.entries], closing_credits: before.closing_credits },
        );
        setFault(undefined);
      } catch (error) {
        setFault(sentenceOf(error));
      } finally {
        setBusy(false);
      }
    },
    [appId],
  );
  useEffect(() => void load(undefined), [load]);
  return (
    <Card id="entries" title="Ledger" note={`Every movement of credits of the account, newest first, in ${currency}.`}>
      <Loaded data={{ value: statement, fault, reload: () => load(undefined) }} what="the ledger">
        {(shown) =>
          shown.entries.length === 0 ? (
            <p class="empty">Nothing has moved yet.</p>
          ) : (
            <>
              <EntryTable statement={shown} />
              {shown.next_cursor === undefined ? null : (
                <button
                  type="button"
                  class="outline secondary more"
                  aria-busy={isBusy}
                  disabled={isBusy}
                  onClick={() => void load(shown)}
                >
                  Show more
                </button>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function EntryTable({
  statement: { entries, opening_credits: opening, closing_credits: closing },
}: {
  readonly statement: Statement;
}) {
  return (
    // What scrolls must be reachable without a pointer.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section class="scrolled whole" tabIndex={0} aria-label="Entries of the ledger">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">For</th>
            <th scope="col">By</th>
            <th scope="col" class="number">
              Credits
            </th>
            <th scope="col" class="number">
              Change
            </th>
            <th scope="col" class="number">
              Available
            </th>
          </tr>
        </thead>
        <tbody>
          <tr class="balance">
            <th scope="row" colSpan={6}>
              Closing balance of these lines
            </th>
            <td class="number">{numberText(closing)}</td>
          </tr>
          {entries.map((entry) => (
            <EntryRow key={entry.sequence} entry={entry} />
          ))}
          <tr class="balance">
            <th scope="row" colSpan={6}>
              Opening balance of these lines
            </th>
            <td class="number">{numberText(opening)}</td>
          </tr>
        </tbody>
      </table>
    </section>
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
          <SectionLink
            name="generations"
            id={id}
            label={`The generation of ${model ?? 'a model'}, ${timeText(entry.created_at)}`}
          >
            {model ?? 'a generation'}
          </SectionLink>
        )}
        {id !== undefined && reason !== undefined ? <span class="quiet">{` ${reason}`}</span> : null}
      </td>
      <td>{entry.credential_name ?? entry.credential_id ?? ''}</td>
      <td class="number">{numberText(entry.credits)}</td>
      <td class="number">{changeText(entry.available_change)}</td>
      <td class="number">{numberText(entry.available_after)}</td>
    </tr>
  );
}

const changes = new Intl.NumberFormat(undefined, { signDisplay: 'exceptZero' });

function changeText(change: number): string {
  return changes.format(change);
}
