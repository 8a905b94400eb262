// SPDX-License-Identifier: Apache-2.0
// What a shop's spreadsheet export may look like, what is refused and where the fault is shown,
// and that whatever is exported imports again unchanged.

#include "stock/csv.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using holdfast::csv::errors_kept_max;
using holdfast::csv::field_bytes_max;
using holdfast::csv::layout;
using holdfast::csv::read;
using holdfast::csv::rows_max;
using holdfast::csv::table;
using holdfast::csv::writer;

namespace {

using texts = std::vector<std::string>;

layout const catalogue{.required = {"sku", "quantity"}, .optional = {"name", "location"}};

texts cells(table const& read_back, std::size_t index)
{
    auto const& row = read_back.rows.at(index);
    return {row.cells.begin(), row.cells.end()};
}

// "line column detail" of each error, the detail cut to its first words.
texts faults(table const& read_back)
{
    texts all;
    for (auto const& error : read_back.errors)
        all.push_back(std::to_string(error.row) + " [" + error.column + "] " +
                      error.detail.substr(0, 24));
    return all;
}

// HOLDFAST_SEED plays a failed run again.
std::uint64_t seed_of_run()
{
    if (auto const* given = std::getenv("HOLDFAST_SEED"))
        return std::strtoull(given, nullptr, 10);
    return std::random_device{}();
}

class dice {
public:
    explicit dice(std::uint64_t seed) : engine_(seed) {}

    std::size_t up_to(std::size_t most)
    {
        return std::uniform_int_distribution<std::size_t>(0, most)(engine_);
    }

    std::string text(std::vector<std::string> const& alphabet, std::size_t length_max)
    {
        std::string made;
        for (auto left = up_to(length_max); left > 0; --left)
            made += alphabet[up_to(alphabet.size() - 1)];
        return made;
    }

private:
    std::mt19937_64 engine_;
};

} // namespace

TEST_CASE("a plain file gives its columns and its rows with their line numbers")
{
    auto const file = read("sku,quantity,name\nTEE-M,5,T-shirt\nTEE-L,0,\n", catalogue);

    CHECK_FALSE(file.has_errors());
    CHECK(file.columns == texts{"sku", "quantity", "name"});
    REQUIRE(file.rows.size() == 2);
    CHECK(file.rows[0].line == 2);
    CHECK(cells(file, 0) == texts{"TEE-M", "5", "T-shirt"});
    CHECK(file.rows[1].line == 3);
    CHECK(cells(file, 1) == texts{"TEE-L", "0", ""});
    CHECK(file.column_index("quantity") == 1);
    CHECK_FALSE(file.column_index("location"));
}

TEST_CASE("what was read stays readable when the file's text is gone and the table is passed on")
{
    table kept;
    {
        std::string text = "sku,quantity\n\"A \"\"one\"\"\",5\n";
        auto const file = read(text, catalogue);
        std::fill(text.begin(), text.end(), '#');
        kept = file;
    }
    auto const moved = std::move(kept);

    REQUIRE(moved.rows.size() == 1);
    CHECK(cells(moved, 0) == texts{"A \"one\"", "5"});
}

TEST_CASE("the byte order mark that Excel writes is not part of the first column's name")
{
    auto const file = read("\xEF\xBB\xBFsku,quantity\nA,1\n", catalogue);

    CHECK_FALSE(file.has_errors());
    CHECK(file.columns.at(0) == "sku");
}

TEST_CASE("a byte order mark anywhere but at the start is text like any other")
{
    auto const file = read("sku,quantity\n\xEF\xBB\xBF"
                           "A,1\n",
                           catalogue);

    CHECK_FALSE(file.has_errors());
    CHECK(cells(file, 0).at(0) == "\xEF\xBB\xBF"
                                  "A");
}

TEST_CASE("LF and CRLF line ends mean the same, also mixed in one file")
{
    for (auto const* text : {"sku,quantity\nA,1\nB,2\n", "sku,quantity\r\nA,1\r\nB,2\r\n",
                             "sku,quantity\r\nA,1\nB,2\r\n", "sku,quantity\nA,1\r\nB,2\n"}) {
        CAPTURE(text);
        auto const file = read(text, catalogue);
        CHECK_FALSE(file.has_errors());
        REQUIRE(file.rows.size() == 2);
        CHECK(cells(file, 0) == texts{"A", "1"});
        CHECK(cells(file, 1) == texts{"B", "2"});
        CHECK(file.rows[1].line == 3);
    }
}

TEST_CASE("the last line may do without its line end")
{
    CHECK(cells(read("sku,quantity\nA,1", catalogue), 0) == texts{"A", "1"});
    CHECK(cells(read("sku,quantity\nA,", catalogue), 0) == texts{"A", ""});
    CHECK(cells(read("sku,quantity\nA,\"1\"", catalogue), 0) == texts{"A", "1"});
}

TEST_CASE("a lone carriage return is refused, and an old Macintosh file with it")
{
    CHECK(faults(read("sku,quantity\nA\rB,1\nC,1\n", catalogue)) ==
          texts{"2 [sku] a carriage return withou"});
    CHECK(faults(read("sku,quantity\nA,1\r", catalogue)) ==
          texts{"2 [quantity] a carriage return withou"});
    CHECK(faults(read("sku,quantity\n\r\nA,1\n\r", catalogue)) ==
          texts{"4 [sku] a carriage return withou"});

    auto const old = read("sku,quantity\rA,1\rB,2\r", catalogue);
    CHECK(faults(old) == texts{"1 [] a carriage return withou"});
    CHECK(old.rows.empty());
}

TEST_CASE("a quoted field may hold separators, quotes and line breaks of every kind")
{
    auto const file = read("sku,quantity,name\n"
                           "A,1,\"Mug, blue\"\n"
                           "B,2,\"27.5\"\" tube\"\n"
                           "C,3,\"two\nlines\"\r\n"
                           "D,4,\"two\r\nlines\"\n"
                           "E,5,\"old\rmac\"\n"
                           "F,6,\"\"\n"
                           "\"G\",\"7\",\"\"\"\"\n",
                           catalogue);

    CHECK_FALSE(file.has_errors());
    REQUIRE(file.rows.size() == 7);
    CHECK(cells(file, 0).at(2) == "Mug, blue");
    CHECK(cells(file, 1).at(2) == "27.5\" tube");
    CHECK(cells(file, 2).at(2) == "two\nlines");
    CHECK(cells(file, 3).at(2) == "two\r\nlines");
    CHECK(cells(file, 4).at(2) == "old\rmac");
    CHECK(cells(file, 5).at(2).empty());
    CHECK(cells(file, 6) == texts{"G", "7", "\""});
}

TEST_CASE("line numbers count the line breaks inside cells, as an editor does")
{
    auto const file = read("sku,quantity,name\nA,1,\"a\nb\r\nc\"\nB,1,x\nC,1\n", catalogue);

    REQUIRE(file.rows.size() == 2);
    CHECK(file.rows[0].line == 2);
    CHECK(file.rows[1].line == 5);
    CHECK(faults(file) == texts{"6 [] the number of columns is"});
}

TEST_CASE("semicolons and tabs are recognised as separators from the header line")
{
    auto const semicolons = read("sku;quantity;name\nA;1;Mug, blue\n", catalogue);
    CHECK_FALSE(semicolons.has_errors());
    CHECK(cells(semicolons, 0) == texts{"A", "1", "Mug, blue"});

    auto const tabs = read("sku\tquantity\tname\nA\t1\tMug; blue, large\n", catalogue);
    CHECK_FALSE(tabs.has_errors());
    CHECK(cells(tabs, 0) == texts{"A", "1", "Mug; blue, large"});

    auto const commas =
        read("sku,quantity,name\nA,1,Mug; blue; large; new\tand\there\n", catalogue);
    CHECK_FALSE(commas.has_errors());
    CHECK(cells(commas, 0) == texts{"A", "1", "Mug; blue; large; new\tand\there"});
}

TEST_CASE("separators inside a quoted column name do not decide which separator the file has")
{
    layout const odd{.required = {"sku", "a,b,c,d\ne"}, .optional = {"quantity"}};
    auto const file = read("sku;\"a,b,c,d\ne\";quantity\nA;x,y;1\n", odd);

    CHECK_FALSE(file.has_errors());
    REQUIRE(file.rows.size() == 1);
    CHECK(file.rows[0].line == 3);
    CHECK(cells(file, 0) == texts{"A", "x,y", "1"});
}

TEST_CASE("a file of one column needs no separator")
{
    layout const one{.required = {"sku"}, .optional = {}};
    auto const file = read("sku\nA;B\n\"\"\n\nC\n", one);

    CHECK_FALSE(file.has_errors());
    REQUIRE(file.rows.size() == 3);
    CHECK(cells(file, 0) == texts{"A;B"});
    CHECK(cells(file, 1) == texts{""});
    CHECK(file.rows[2].line == 5);
}

TEST_CASE("the columns may come in any order, in capitals, quoted and with blanks around them")
{
    auto const file = read(" Quantity ,\"SKU\"\t,LOCATION\n", catalogue);
    CHECK(faults(file) == texts{"1 [] text after the closing q"});

    auto const good = read(" Quantity ,\" SKU\",LOCATION\t\n1,A,main\n", catalogue);
    CHECK_FALSE(good.has_errors());
    CHECK(good.columns == texts{"quantity", "sku", "location"});
    CHECK(good.column_index("sku") == 1);
}

TEST_CASE("values keep their blanks, their case and their leading zeros")
{
    auto const file = read("sku,quantity\n  00123 ,\t=1+1\n", catalogue);

    CHECK_FALSE(file.has_errors());
    CHECK(cells(file, 0) == texts{"  00123 ", "\t=1+1"});
}

TEST_CASE("each wrong, repeated, nameless or missing column is named with the header's line")
{
    auto const file = read("\n\nsku,Sku,colour,,quantities\nA,1,x,y,z\n", catalogue);

    CHECK(faults(file) == texts{"3 [sku] this column appears more",
                                "3 [colour] unknown column; known ar", "3 [] column 4 has no name",
                                "3 [quantities] unknown column; known ar",
                                "3 [quantity] this required column is "});
    CHECK(file.errors.at(1).detail == "unknown column; known are sku, quantity, name, location");
    CHECK(file.rows.empty());
}

TEST_CASE("rows are checked even below a wrong header, but none is given out")
{
    auto const file = read("sku,amount\nA,1\nB\nC,3\n", catalogue);

    CHECK(faults(file) == texts{"1 [amount] unknown column; known ar",
                                "1 [quantity] this required column is ",
                                "3 [] the number of columns is"});
    CHECK(file.rows.empty());
}

TEST_CASE("a column name in other letters than ASCII is compared as it is")
{
    layout const german{.required = {"größe"}, .optional = {}};

    CHECK_FALSE(read("Größe\nL\n", german).has_errors());
    CHECK(read("GRÖßE\nL\n", german).has_errors());
}

TEST_CASE("an error repeats a very long column name only in part and never inside a letter")
{
    std::string name = "x";
    for (int i = 0; i < 2000; ++i)
        name += "漢";
    auto const file = read("sku,quantity," + name + "\n", catalogue);

    REQUIRE(file.errors.size() == 1);
    CHECK(file.errors[0].column.size() < 100);
    CHECK(file.errors[0].column.starts_with("x漢漢"));
    CHECK(file.errors[0].column.ends_with("漢…"));
}

TEST_CASE("a header of absurdly many columns is refused in one sentence")
{
    auto const file = read(std::string(1'000'000, ',') + "\nA,1\n", catalogue);

    CHECK(faults(file) == texts{"1 [] more than 200 columns"});
    CHECK(file.rows.empty());
}

TEST_CASE("a file without any content is refused")
{
    for (std::string const text : {"", "\xEF\xBB\xBF", "\n", "\r\n\r\n\n", "\xEF\xBB\xBF\r\n"}) {
        CAPTURE(text);
        CHECK(faults(read(text, catalogue)) == texts{"1 [] the file is empty; its f"});
    }
}

TEST_CASE("a header alone is a catalogue without items")
{
    for (auto const* text : {"sku,quantity", "sku,quantity\n", "sku,quantity\r\n\r\n\n"}) {
        CAPTURE(text);
        auto const file = read(text, catalogue);
        CHECK_FALSE(file.has_errors());
        CHECK(file.columns.size() == 2);
        CHECK(file.rows.empty());
    }
}

TEST_CASE("empty lines are skipped, lines of blanks or separators are not")
{
    auto const file = read("\nsku,quantity\n\nA,1\n\r\n\nB,2\n  \n,\n\n", catalogue);

    REQUIRE(file.rows.size() == 3);
    CHECK(file.rows[0].line == 4);
    CHECK(file.rows[1].line == 7);
    CHECK(cells(file, 2) == texts{"", ""});
    CHECK(faults(file) == texts{"8 [] the number of columns is"});
}

TEST_CASE("every row with too few or too many fields is named, and the good rows are still read")
{
    auto const file = read("sku,quantity,name\nA,1\nB,2,x\nC,3,x,y\nD,4,x,\nE,5,x\nF\n", catalogue);

    CHECK(faults(file) == texts{"2 [] the number of columns is", "4 [] the number of columns is",
                                "5 [] the number of columns is", "7 [] the number of columns is"});
    CHECK(file.errors.at(1).detail == "the number of columns is 3, the number of fields is 4");
    REQUIRE(file.rows.size() == 2);
    CHECK(cells(file, 0).at(0) == "B");
    CHECK(cells(file, 1).at(0) == "E");
}

TEST_CASE("a row of a million separators is one error")
{
    auto const file = read("sku,quantity\n" + std::string(1'000'000, ',') + "\nA,1\n", catalogue);

    CHECK(file.error_count == 1);
    CHECK(file.rows.size() == 1);
}

TEST_CASE("a quote in the middle of an unquoted field is refused at its row and column")
{
    auto const file =
        read("sku,quantity,name\nA,1,5\" pipe\nB,2, \"x\"\nC,3,\"x\"\nD,4,x\"\n", catalogue);

    CHECK(faults(file) == texts{"2 [name] a quote inside an unquot",
                                "3 [name] a quote inside an unquot",
                                "5 [name] a quote inside an unquot"});
    REQUIRE(file.rows.size() == 1);
    CHECK(cells(file, 0).at(0) == "C");
}

TEST_CASE("text behind a closing quote is refused")
{
    auto const file =
        read("sku,quantity,name\nA,1,\"x\"y\nB,2,\"x\" \n\"C\"\"\"d,3,x\nD,4,x\n", catalogue);

    CHECK(faults(file) == texts{"2 [name] text after the closing q",
                                "3 [name] text after the closing q",
                                "4 [sku] text after the closing q"});
    CHECK(file.rows.size() == 1);
}

TEST_CASE("one row with several misplaced quotes is one error, its first")
{
    auto const file = read("sku,quantity,name\nA\"A,\"1\"1,x\"x\nB,2,x\n", catalogue);

    CHECK(faults(file) == texts{"2 [sku] a quote inside an unquot"});
}

TEST_CASE("a forgotten closing quote that swallows rows tells where it opened and closed")
{
    auto const file = read("sku,quantity,name\nA,1,\"x\nB,2,y\nC,3,\"z\"\nD,4,x\n", catalogue);

    REQUIRE(file.errors.size() == 1);
    CHECK(file.errors[0].row == 2);
    CHECK(file.errors[0].column == "name");
    CHECK(file.errors[0].detail.ends_with("(quotes opened on line 2, closed on line 4)"));
    REQUIRE(file.rows.size() == 1);
    CHECK(file.rows[0].line == 5);
}

TEST_CASE("a quote that is never closed is named by the line on which it opened")
{
    CHECK(faults(read("sku,quantity,name\nA,1,x\nB,2,\"y\nC,3,z\n", catalogue)) ==
          texts{"3 [name] the quote opened on this"});
    CHECK(faults(read("sku,quantity,name\n\"A\nA\",1,\"x", catalogue)) ==
          texts{"3 [name] the quote opened on this"});
    CHECK(faults(read("sku,quantity,name\nA,1,\"x\"\"", catalogue)) ==
          texts{"2 [name] the quote opened on this"});
    CHECK(faults(read("sku,quantity,name\nA,1,\"", catalogue)) ==
          texts{"2 [name] the quote opened on this"});
    CHECK(faults(read("sku,\"quantity\nA,1\n", catalogue)) ==
          texts{"1 [] the quote opened on this"});
}

TEST_CASE("text in any script is taken as it is")
{
    std::string const name =
        "Größe L — crème brûlée, 雨伞, 日本語, 🏕️ \xF4\x8F\xBF\xBF \xEE\x80\x80";
    auto const file = read("sku,quantity,name\n雨伞-红,1,\"" + name + "\"\n", catalogue);

    CHECK_FALSE(file.has_errors());
    CHECK(cells(file, 0) == texts{"雨伞-红", "1", name});
}

TEST_CASE("bytes that are not UTF-8 are refused at their row and column")
{
    for (std::string const bad : {"Gr\xF6\xDF"
                                  "e",                    // Latin-1
                                  "\x80",                 // a continuation byte alone
                                  "\xC3",                 // cut short by the separator
                                  "\xE2\x82",             // cut short after two
                                  "\xC0\xAF",             // overlong /
                                  "\xE0\x80\xAF",         // overlong / in three
                                  "\xF0\x80\x80\xAF",     // overlong / in four
                                  "\xED\xA0\x80",         // a surrogate
                                  "\xF4\x90\x80\x80",     // past U+10FFFF
                                  "\xF8\x88\x80\x80\x80", // five bytes
                                  "12345678\xFF",         // behind a run of ASCII
                                  "\xFE"}) {
        CAPTURE(bad);
        auto const file = read("sku,quantity,name\nA,1,é\nB,2," + bad + "\n" + bad + ",3,\"" + bad +
                                   "\"\nC,4,é\n",
                               catalogue);
        REQUIRE(file.errors.size() == 3);
        CHECK(file.errors[0].row == 3);
        CHECK(file.errors[0].column == "name");
        CHECK(file.errors[1].row == 4);
        CHECK(file.errors[1].column == "sku");
        CHECK(file.errors[2].row == 4);
        CHECK(file.errors[2].column == "name");
        CHECK(file.errors[0].detail.ends_with("is not valid UTF-8; save the file as UTF-8"));
        CHECK(file.rows.size() == 2);
    }
}

TEST_CASE("the offending byte is told in figures")
{
    auto const file = read("sku,quantity\nGr\xF6\xDF"
                           "e,1\n",
                           catalogue);

    REQUIRE(file.errors.size() == 1);
    CHECK(file.errors[0].detail == "byte 0xF6 is not valid UTF-8; save the file as UTF-8");
}

TEST_CASE("a NUL byte is refused wherever it stands")
{
    using namespace std::string_literals;

    CHECK(faults(read("sku,quantity\nA\0B,1\nB,2\n"s, catalogue)) == texts{"2 [sku] a NUL byte"});
    CHECK(faults(read("sku,quantity\nA,\"\0\"\nabcdefgh\0,2\n"s, catalogue)) ==
          texts{"2 [quantity] a NUL byte", "3 [sku] a NUL byte"});
    CHECK(faults(read("sku,quantity,n\0me\nA,1,x\n"s, catalogue)) ==
          texts{"1 [] column 3: a NUL byte"});
}

TEST_CASE("bad bytes in the header never reach an error's column or text")
{
    auto const file = read("sku,quantity,Gr\xF6\xDF"
                           "e\nA,1,L\n",
                           catalogue);

    REQUIRE(file.errors.size() == 1);
    CHECK(file.errors[0].column.empty());
    CHECK(file.errors[0].detail.starts_with("column 3: byte 0xF6 is not valid UTF-8"));
}

TEST_CASE("a spreadsheet sent as it is, or as UTF-16, is told what to do")
{
    using namespace std::string_literals;

    CHECK(read("PK\x03\x04\x14\0\x06\0"s, catalogue).errors.at(0).detail ==
          "the file is a spreadsheet or an archive; save it as CSV in UTF-8");
    CHECK(read("\xFF\xFEs\0k\0u\0"s, catalogue).errors.at(0).detail ==
          "the file is UTF-16; save it as CSV in UTF-8");
    CHECK(read("\xFE\xFF\0s\0k\0u"s, catalogue).errors.at(0).detail ==
          "the file is UTF-16; save it as CSV in UTF-8");
}

TEST_CASE("a field may have 10 000 bytes and not one more, quotes not counted")
{
    std::string const longest(field_bytes_max, 'x');
    std::string quotes;
    for (std::size_t i = 0; i < field_bytes_max; ++i)
        quotes += "\"\"";
    auto const file = read("sku,quantity\n" + longest + ",1\nA," + longest + "x\n\"" + quotes +
                               "\",3\n\"" + quotes + "y\",4\n",
                           catalogue);

    CHECK(faults(file) ==
          texts{"3 [quantity] the field is longer than", "5 [sku] the field is longer than"});
    REQUIRE(file.rows.size() == 2);
    CHECK(cells(file, 1).at(0) == std::string(field_bytes_max, '"'));
}

TEST_CASE("a hundred errors are told and all of them counted")
{
    std::string text = "sku,quantity\n";
    for (int i = 0; i < 1234; ++i)
        text += "A\n";
    text += "B,1\n";
    auto const file = read(text, catalogue);

    CHECK(file.errors.size() == errors_kept_max);
    CHECK(file.errors.back().row == 101);
    CHECK(file.error_count == 1234);
    CHECK(file.rows.size() == 1);
}

TEST_CASE("a million rows are read and the one after them is refused")
{
    std::string text = "sku,quantity\n";
    for (std::size_t i = 0; i < rows_max; ++i)
        text += "A,1\n";
    CHECK(read(text, catalogue).rows.size() == rows_max);
    CHECK_FALSE(read(text + "\n\r\n", catalogue).has_errors());

    auto const file = read(text + "\nB,1\nC,1\n", catalogue);
    CHECK(faults(file) == texts{"1000003 [] more than 1000000 rows; "});
}

TEST_CASE("an exported row is quoted only where it must be and ends as RFC 4180 says")
{
    writer out;
    out.row({"sku", "quantity", "name"});
    out.row({"TEE; M", "5", " plain\ttext "});
    out.row({"a,b", "say \"hi\"", "two\nlines"});
    out.row({"", "\r", ""});

    CHECK(out.take() == "sku,quantity,name\r\n"
                        "TEE; M,5, plain\ttext \r\n"
                        "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\r\n"
                        ",\"\r\",\r\n");
    CHECK(out.take().empty());
}

TEST_CASE("a single empty cell is exported so that it does not read as an empty line")
{
    writer out;
    out.row({"sku"});
    out.row({""});
    out.row({"A"});

    auto const file = read(out.take(), {.required = {"sku"}, .optional = {}});
    REQUIRE(file.rows.size() == 2);
    CHECK(cells(file, 0) == texts{""});
}

TEST_CASE("whatever is exported imports again unchanged")
{
    auto const seed = seed_of_run();
    MESSAGE("HOLDFAST_SEED=", seed);
    dice die(seed);
    texts const alphabet{"a",       "Z",    "0",  " ",  ",", ";",           "\t",
                         "\"",      "\"\"", "\r", "\n", "é", "ß",           "雨",
                         "🏕️", "\r\n", "=",  "-",  "'", "\xEF\xBB\xBF"};
    std::vector<std::string_view> const names{"sku", "quantity", "location", "name", "on_sale"};

    for (int round = 0; round < 500; ++round) {
        CAPTURE(seed);
        CAPTURE(round);
        auto const width = 1 + die.up_to(names.size() - 1);
        layout const columns{.required = {names.begin(), names.begin() + std::ptrdiff_t(width)},
                             .optional = {}};
        writer out;
        out.row(columns.required);

        std::vector<texts> written(die.up_to(20));
        for (auto& row : written) {
            for (std::size_t i = 0; i < width; ++i)
                row.push_back(die.text(alphabet, 12));
            out.row(std::vector<std::string_view>(row.begin(), row.end()));
        }

        auto const text = out.take();
        CAPTURE(text);
        auto const file = read(text, columns);
        REQUIRE(faults(file) == texts{});
        REQUIRE(file.rows.size() == written.size());
        for (std::size_t i = 0; i < written.size(); ++i)
            REQUIRE(cells(file, i) == written[i]);
    }
}

TEST_CASE("no file, however broken, gives out a row of another width or hides an error")
{
    auto const seed = seed_of_run();
    MESSAGE("HOLDFAST_SEED=", seed);
    dice die(seed);
    texts const alphabet{"a",
                         "1",
                         ",",
                         ",",
                         ";",
                         "\t",
                         "\"",
                         " ",
                         "\"\"",
                         "\r",
                         "\n",
                         "\n",
                         "\r\n",
                         "é",
                         "雨",
                         "\xC3",
                         "\xFF",
                         "\xF0\x9F",
                         "\xEF\xBB\xBF",
                         std::string(1, '\0')};

    for (int round = 0; round < 5000; ++round) {
        CAPTURE(seed);
        CAPTURE(round);
        auto const header = die.up_to(3) == 0 ? die.text(alphabet, 8) : "sku,quantity\n";
        auto const text = header + die.text(alphabet, 60);
        CAPTURE(text);
        auto const file = read(text, catalogue);

        auto const lines = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
        REQUIRE(file.errors.size() == std::min(file.error_count, errors_kept_max));
        for (auto const& error : file.errors) {
            REQUIRE(error.row >= 1);
            REQUIRE(error.row <= lines);
            REQUIRE_FALSE(error.detail.empty());
        }
        for (auto const& row : file.rows) {
            REQUIRE(row.line <= lines);
            REQUIRE(row.cells.size() == file.columns.size());
            for (auto const cell : row.cells) {
                REQUIRE(cell.find('\0') == std::string_view::npos);
                REQUIRE(cell.find('\xFF') == std::string_view::npos);
            }
        }
    }
}

TEST_CASE("what a spreadsheet would calculate is a text in a file for people")
{
    for (std::string const formula : {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1",
                                      "＋1", "－1", "＠A", "'=1", "'x"})
        CHECK(holdfast::csv::harmless(formula) == '\'' + formula);
    for (std::string const text : {"", "a=1", "1-2", "x'", " =1", "漢字"})
        CHECK(holdfast::csv::harmless(text) == text);
}
