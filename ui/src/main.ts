// It captures, and so comes before Tauri's own listener, which was there earlier.
import "./platform/messages";
import "@fontsource-variable/inter";
import "@fontsource-variable/jetbrains-mono";
import "./styles/tokens.css";
import "./styles/base.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { kept } from "./kept";
import { choosePlatform } from "./platform/choose";
import { Store } from "./state/store.svelte";

const target = document.getElementById("app");
if (target === null) throw new Error("The page has no place for the window.");

const store = new Store(await choosePlatform());
mount(App, { target, props: { store } });
// The build of the product leaves this out, and what it loads with it.
if (import.meta.env.MODE === "host-test") {
  const { installHostTest } = await import("./host-test");
  installHostTest(window, store);
}
// A page that was lost left what it showed.
void store.start(kept().conversation);
