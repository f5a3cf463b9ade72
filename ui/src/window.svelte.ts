/** Below this the inspector lies over the conversation; in CSS pixels. */
const INSPECTOR_BESIDE = 1080;
/** Below this the sidebar does as well. */
const SIDEBAR_BESIDE = 700;
const KEPT_UNDER = "usher.layout";

interface Kept {
  sidebarWidth: number;
  inspectorWidth: number;
  sidebarOpen: boolean;
  inspectorOpen: boolean;
}

/** How the window is divided. Only this machine's window cares, so the page keeps it itself. */
export class Layout {
  sidebarWidth = $state(228);
  inspectorWidth = $state(416);
  /** What was chosen while there was room for it. */
  sidebarWanted = $state(true);
  inspectorWanted = $state(true);
  /** Whether a pane that lies over the conversation is shown. */
  sidebarOver = $state(false);
  inspectorOver = $state(false);
  width = $state(1280);
  private isWide = $state(false);

  readonly inspectorBeside = $derived(this.width >= INSPECTOR_BESIDE);
  readonly sidebarBeside = $derived(this.width >= SIDEBAR_BESIDE);
  readonly inspectorOpen = $derived(this.inspectorBeside ? this.inspectorWanted : this.inspectorOver);
  readonly sidebarOpen = $derived(this.sidebarBeside ? this.sidebarWanted : this.sidebarOver);

  constructor() {
    const kept = read();
    if (kept.sidebarWidth !== undefined) this.sidebarWidth = kept.sidebarWidth;
    if (kept.inspectorWidth !== undefined) this.inspectorWidth = kept.inspectorWidth;
    if (kept.sidebarOpen !== undefined) this.sidebarWanted = kept.sidebarOpen;
    if (kept.inspectorOpen !== undefined) this.inspectorWanted = kept.inspectorOpen;
  }

  /** Whether the bench has the whole window. */
  get wide(): boolean {
    return this.isWide;
  }

  /** What has the whole window is seen however narrow that is or becomes. Where there is room it leaves nothing over the conversation. */
  set wide(on: boolean) {
    this.isWide = on;
    this.inspectorOver = on || (this.inspectorOver && !this.inspectorBeside);
  }

  setInspector(open: boolean): void {
    if (this.inspectorBeside) this.inspectorWanted = open;
    else this.inspectorOver = open;
  }

  setSidebar(open: boolean): void {
    if (this.sidebarBeside) this.sidebarWanted = open;
    else this.sidebarOver = open;
  }

  /** Keeps the choice for the next start. */
  keep(): void {
    const kept: Kept = {
      sidebarWidth: this.sidebarWidth,
      inspectorWidth: this.inspectorWidth,
      sidebarOpen: this.sidebarWanted,
      inspectorOpen: this.inspectorWanted,
    };
    try {
      localStorage.setItem(KEPT_UNDER, JSON.stringify(kept));
    } catch {
      // A window that cannot keep its widths still works.
    }
  }
}

function read(): Partial<Kept> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEPT_UNDER) ?? "{}");
    if (typeof value !== "object" || value === null) return {};
    const kept: Partial<Kept> = {};
    const { sidebarWidth, inspectorWidth, sidebarOpen, inspectorOpen } = value as Record<string, unknown>;
    if (typeof sidebarWidth === "number") kept.sidebarWidth = Math.min(360, Math.max(180, sidebarWidth));
    if (typeof inspectorWidth === "number") kept.inspectorWidth = Math.min(720, Math.max(320, inspectorWidth));
    if (typeof sidebarOpen === "boolean") kept.sidebarOpen = sidebarOpen;
    if (typeof inspectorOpen === "boolean") kept.inspectorOpen = inspectorOpen;
    return kept;
  } catch {
    return {};
  }
}
