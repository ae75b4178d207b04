import { useEffect, useRef } from 'preact/hooks';
import { Link, Package } from 'lucide-preact';
import type { GenerationRequest, Task } from '../api-types.js';
import { type ConsoleModel, useModels } from '../models/use-models.js';
import { Button, Copyable, useCopy } from '../parts/buttons.js';
import { Empty, Fault, Loaded, type PageProps, Page } from '../parts/parts.js';
import { changeQuery, hrefOf, place } from '../places.js';
import { useLatest } from '../use-data.js';
import { RequestCode } from './code/request-code.js';
import { ActBar } from './form/act-bar.js';
import { RequestForm } from './form/request-form.js';
import { HistoryStrip } from './result/history-strip.js';
import { ResultPane } from './result/result-pane.js';
import { codeRequest, faultsOf, isShownAtField, outputsText, usePlayground } from './use-playground.js';

/** Creates images and videos in the App of this page. */
export function PlaygroundPage({ overview }: PageProps) {
  const models = useModels();
  return (
    <Page title="Playground" width="full" actions={<ShareButton />}>
      {overview.account.is_suspended ? (
        <div class="play-note">
          <Fault text="The account is suspended. Nothing can be created until the operator resumes it." />
        </div>
      ) : (
        <Loaded data={models} what="models" skeleton={<PlaygroundSkeleton />}>
          {(all) => {
            const first = all.find(({ is_test: isTest }) => !isTest) ?? all[0];
            return first === undefined ? (
              <Empty icon={Package} title="No models yet" text="The operator has no model in the catalog." />
            ) : (
              <Playground overview={overview} models={all} first={first} />
            );
          }}
        </Loaded>
      )}
    </Page>
  );
}

function PlaygroundSkeleton() {
  return (
    <div class="play">
      <div class="play-form" />
      <div class="play-out" />
    </div>
  );
}

/** Copies the address, which leads others of the account to the same settings. */
function ShareButton() {
  const { from, model } = place.value.query;
  const [isCopied, copy] = useCopy(
    new URL(hrefOf('playground', { query: { from, model } }), location.href).href,
    'the address',
  );
  return (
    <Button kind="quiet" icon={Link} label="Share setup" onClick={() => void copy()}>
      <span class="wide-only">{isCopied ? 'Address copied' : 'Share setup'}</span>
    </Button>
  );
}

interface PlaygroundProps extends PageProps {
  readonly models: readonly ConsoleModel[];
  readonly first: ConsoleModel;
}

/** The form for a request, its result, the same request as code, and the history. */
function Playground({ overview, models, first }: PlaygroundProps) {
  const root = useRef<HTMLDivElement>(null);
  const playground = usePlayground({ overview, models, first, root });
  const { from, form, references, fileFault, request, estimated, fault, creating, take, submit, varySeed } = playground;
  const press = useLatest(() => submit());
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isCreate = event.key === 'Enter' && (event.metaKey || event.ctrlKey) && !event.repeat;
      if (!isCreate || (event.target as Element).closest('dialog, [popover]') !== null) return;
      event.preventDefault();
      press();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [press]);
  return (
    <div
      ref={root}
      class="play"
      onPaste={(event) => {
        const files = [...(event.clipboardData?.files ?? [])];
        if (files.length === 0) return;
        event.preventDefault();
        take(files);
      }}
    >
      <form class="play-form" onSubmit={submit} noValidate aria-label="Request">
        <div class="play-fields">
          <RequestForm
            models={models}
            form={form}
            picked={(key) => {
              form.pickModel(key);
              changeQuery({ model: key });
            }}
            references={references}
            addFiles={take}
            fileFault={fileFault}
            faultAt={faultsOf(form.faults, fault, estimated)}
          />
        </div>
        <ActBar
          estimated={estimated}
          available={overview.account.available_credits}
          what={outputsText(form)}
          isBusy={creating !== undefined}
          fault={fault === undefined || isShownAtField(fault) ? undefined : fault.sentence}
          faultCode={fault?.code ?? ''}
          varySeed={varySeed}
        />
      </form>
      <section class="play-out" aria-label="Result">
        <ResultPane
          id={from}
          details={playground.details}
          made={playground.shown}
          creating={creating}
          acts={playground.acts}
          view={playground.view}
          select={playground.setView}
          code={<RequestCode request={codeRequest(form, references)} />}
          json={(task) => JsonView({ request, task })}
        />
        <HistoryStrip generations={playground.history} currentId={from} />
      </section>
    </div>
  );
}

/** The body of the request, and the response where a generation is shown. */
function JsonView({ request, task }: { readonly request: GenerationRequest; readonly task: Task | undefined }) {
  return (
    <div class="stack">
      <h2>Request</h2>
      <Copyable text={JSON.stringify(request, null, 2)} what="the request" />
      <h2>Response</h2>
      {task === undefined ? (
        <p class="small muted">The generation, once there is one.</p>
      ) : (
        <Copyable text={JSON.stringify(task, null, 2)} what="the response" />
      )}
    </div>
  );
}
