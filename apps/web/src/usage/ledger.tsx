import { ReceiptText } from 'lucide-preact';
import type { Entry, Statement } from '../api-types.js';
import { numberText } from '../format.js';
import { MoreButton } from '../parts/buttons.js';
import { Badge, Card, Empty, Loaded, PlaceLink, Time } from '../parts/parts.js';
import { inApp } from '../server.js';
import { currency } from '../session.js';
import { usePages } from '../use-data.js';
import { KIND_TEXTS } from './entry-kinds.js';

const PAGE = 25;

/** Every movement of credits, newest first, with the generation that it belongs to. */
export function Ledger({ appId }: { readonly appId: string }) {
  const path = inApp(appId, `/credits/entries?limit=${PAGE}`);
  const statement = usePages<'entries', Entry, Statement>(path, 'entries');
  const { items, last } = statement;
  return (
    <Card id="ledger" title="Ledger" note={`Every movement of ${currency.value}, newest first`} isFlush>
      <Loaded data={statement} what="the ledger">
        {(first) =>
          items.length === 0 ? (
            <Empty icon={ReceiptText} title="No entries yet" text="Grants, reservations and charges appear here." />
          ) : (
            <>
              <EntryTable entries={items} closing={first.closing_credits} opening={(last ?? first).opening_credits} />
              <MoreButton pages={statement} what="entries" />
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
    <section class="scroll-x" tabIndex={0} aria-label="Entries of the ledger">
      <table class="table">
        <thead>
          <tr>
            {['Time', 'Entry', 'For', 'By'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            {['Credits', 'Change', 'Available after'].map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <BalanceLine title="Closing balance of these lines" credits={closing} />
          {entries.map((entry) => (
            <EntryLine key={entry.sequence} entry={entry} />
          ))}
          <BalanceLine title="Opening balance of these lines" credits={opening} />
        </tbody>
      </table>
    </section>
  );
}

function BalanceLine({ title, credits }: { readonly title: string; readonly credits: number | undefined }) {
  return (
    <tr class="balance-line">
      <th scope="row" colSpan={6}>
        {title}
      </th>
      <td class="number">{balanceText(credits)}</td>
    </tr>
  );
}

function EntryLine({ entry }: { readonly entry: Entry }) {
  const { generation_id: id, model_key: model, reason } = entry;
  return (
    <tr>
      <td class="muted">
        <Time at={entry.created_at} />
      </td>
      <td>
        <Badge look="plain">{KIND_TEXTS[entry.kind]}</Badge>
      </td>
      <td>
        {id === undefined ? (
          (reason ?? '')
        ) : (
          <PlaceLink page="generations" id={id} label={`Generation of ${model ?? 'a model'}, ${entry.created_at}`}>
            {model ?? 'a generation'}
          </PlaceLink>
        )}
        {id !== undefined && reason !== undefined ? <span class="muted">{` ${reason}`}</span> : null}
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
