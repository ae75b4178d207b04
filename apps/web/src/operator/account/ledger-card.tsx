import { ReceiptText } from 'lucide-preact';
import { numberText } from '../../format.js';
import { MoreButton } from '../../parts/buttons.js';
import { Badge, Card, Empty, Loaded, Time } from '../../parts/parts.js';
import { KIND_TEXTS } from '../../usage/entry-kinds.js';
import type { Pages } from '../../use-data.js';
import { linkTo } from '../places.js';
import type { Entry } from '../server-types.js';
import { Table } from '../../parts/old-table.js';

interface LedgerCardProps {
  readonly entries: Pages<Entry, { readonly entries: readonly Entry[] }>;
  readonly currency: string;
}

/** The entries of the account, the newest first. */
export function LedgerCard({ entries, currency }: LedgerCardProps) {
  return (
    <Card id="ledger" title="Ledger" note={`Every movement of ${currency}, newest first`} isFlush>
      <Loaded data={entries} what="the ledger">
        {() => (
          <>
            {entries.items.length === 0 ? (
              <Empty icon={ReceiptText} title="No entries yet" text="Grant credits to begin." />
            ) : (
              <Table
                labelledBy="ledger"
                columns={['Entry', 'Time', 'For', 'By']}
                numbers={['Amount', 'Available after']}
                items={entries.items}
              >
                {(entry) => <EntryRow key={entry.sequence} entry={entry} />}
              </Table>
            )}
            <MoreButton pages={entries} what="entries" />
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** An operator's adjustment is shown with its sign; a charge moves credits that were already reserved. */
function amountText({ kind, credits, available_change: changed }: Entry): string {
  return numberText(kind === 'adjustment' ? changed : credits);
}

function EntryRow({ entry }: { readonly entry: Entry }) {
  const { generation_id: id, reason = '', operator_email: operator, credential_name: credential } = entry;
  return (
    <tr>
      <th scope="row">
        <Badge look="plain">{KIND_TEXTS[entry.kind]}</Badge>
      </th>
      <td data-name="Time" class="muted nowrap">
        <Time at={entry.at} />
      </td>
      <td data-name="For">
        <div>
          {id === undefined ? null : linkTo('operator-queue', 'Generation', id)}
          {id === undefined ? reason : <span class="muted">{` ${reason}`}</span>}
        </div>
      </td>
      <td data-name="By">{operator ?? credential ?? <span class="faint">–</span>}</td>
      <td data-name="Amount" class="number">
        {amountText(entry)}
      </td>
      <td data-name="Available after" class="number">
        {numberText(entry.available_after)}
      </td>
    </tr>
  );
}
